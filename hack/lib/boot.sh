# Since when the machine is up: what a folder has of processes and hugepages means others after a reboot. To be sourced.

# mark_boot makes a folder one of now.
mark_boot() { cat /proc/sys/kernel/random/boot_id >"$1/boot_id"; }

# of_this_boot tells whether a folder is; one without a mark is taken to be.
of_this_boot() { [[ ! -e $1/boot_id || $(<"$1/boot_id") == $(</proc/sys/kernel/random/boot_id) ]]; }
