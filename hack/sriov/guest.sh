#!/usr/bin/env bash
# Prints a folder with the guest's kernel, initrd.img and root.img, a Debian 12 with
# the files of the folder guest/ in it. Both the packages and the image are kept in
# ~/.cache/sinter by the hash of their recipes; apt checks the packages' signatures.
# REFRESH=1 makes them again.
set -euo pipefail
cd "$(dirname "$0")"
source settings.sh
lists=(guest.packages ../images/dataplane.packages)
packages=$(grep -hv '^#' "${lists[@]}" | paste -sd,)
hash_of() { sha256sum | cut -c1-16; }
# The kernel alone cannot read its root file system: an initrd with just the modules for that.
make_debian() {
  echo "installing Debian 12 for the guest" >&2
  rm -f "$cache"/sriov-debian-*
  mmdebstrap --quiet --mode=root --format=tar --variant=essential --include="$packages" --skip=output/dev \
    --aptopt='APT::Install-Recommends "false"' --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    --customize-hook='sed -i "s/^MODULES=.*/MODULES=list/; s/^COMPRESS=.*/COMPRESS=lz4/" "$1/etc/initramfs-tools/initramfs.conf"' \
    --customize-hook='printf "%s\n" virtio_pci virtio_blk ext4 >"$1/etc/initramfs-tools/modules"' \
    --customize-hook='chroot "$1" update-initramfs -c -k all' \
    bookworm "$debian.new" ${MIRROR:+"$MIRROR"} >&2
  mv "$debian.new" "$debian"
}

make_image() {
  local tmp
  rm -rf "$cache"/sriov-guest-*
  tmp=$(mktemp -d)
  trap 'rm -rf "$tmp"' RETURN
  mkdir "$tmp/root" "$image.new"
  tar -C "$tmp/root" -xf "$debian"
  mkdir -p "$tmp/root/dev"
  cp -a --no-preserve=ownership guest/. "$tmp/root/"
  chroot "$tmp/root" systemctl --quiet enable systemd-networkd.service $(cd guest/etc/systemd/system && ls -- *.service)
  chroot "$tmp/root" systemctl --quiet mask systemd-networkd-wait-online.service getty@tty1.service systemd-logind.service fstrim.timer e2scrub_reap.service
  cp "$tmp"/root/boot/vmlinuz-* "$image.new/kernel"
  cp "$tmp"/root/boot/initrd.img-* "$image.new/initrd.img"
  mke2fs -q -t ext4 -L root -m 0 -d "$tmp/root" "$image.new/root.img" 6G >&2
  mv "$image.new" "$image"
}

debian=$cache/sriov-debian-$({ echo "$packages"; declare -f make_debian; } | hash_of).tar
image=$cache/sriov-guest-$({ echo "$debian"; declare -f make_image; find guest -type f -printf '%p %m ' -exec cat {} +; } | hash_of)
mkdir -p "$cache"
[[ -e $debian && -z ${REFRESH:-} ]] || make_debian
[[ -e $image && -z ${REFRESH:-} ]] || make_image
echo "$image"
