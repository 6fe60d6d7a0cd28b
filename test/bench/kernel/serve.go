package kernel

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Devices of the namespace.
const (
	inside  = "inside"
	outside = "outside"
)

// Serve is the program that Open starts in a network namespace of its own: it sets up the kernel's path, then replays each time that it is asked.
func Serve(in io.Reader, out io.Writer) error {
	runtime.LockOSThread()
	requests, answers := json.NewDecoder(in), json.NewEncoder(out)
	var c Config
	if err := requests.Decode(&c); err != nil {
		return err
	}
	tap, err := c.setUp()
	if err != nil {
		return answers.Encode(Report{Error: err.Error()})
	}
	if err := answers.Encode(Report{}); err != nil {
		return err
	}
	for {
		var r Request
		switch err := requests.Decode(&r); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		report, err := r.replay(tap, c.Core)
		if err != nil {
			report = &Report{Error: err.Error()}
		}
		if err := answers.Encode(report); err != nil {
			return err
		}
	}
}

// setUp makes the devices, routes and rules.
func (c *Config) setUp() (tap int, err error) {
	if tap, err = openTAP(inside); err != nil {
		return 0, err
	}
	for _, s := range [][2]string{{"net/ipv6/conf/all/disable_ipv6", "1"}, {"net/ipv6/conf/default/disable_ipv6", "1"}, {"net/ipv4/ip_forward", "1"}, {"net/ipv4/conf/all/rp_filter", "0"}} {
		if err := os.WriteFile("/proc/sys/"+s[0], []byte(s[1]), 0o644); err != nil && !strings.Contains(s[0], "ipv6") {
			return 0, err
		}
	}
	if command("ip", "link", "add", outside, "type", "dummy") != nil {
		if err := command("ip", "link", "add", outside, "type", "ifb"); err != nil { // it drops what nobody redirected to it
			return 0, err
		}
	}
	lines := []string{
		"link set lo up",
		"link set " + inside + " address " + c.InsideMAC, "address add " + c.Inside + " dev " + inside, "link set " + inside + " up",
		"address add " + c.Outside + " dev " + outside, "link set " + outside + " arp on", "link set " + outside + " up",
	}
	for _, n := range c.Neighbors {
		lines = append(lines, fmt.Sprintf("neighbour replace %s lladdr %s dev %s nud permanent", n.Address, n.MAC, outside))
	}
	if err := fed("ip", strings.Join(lines, "\n")+"\n"+batch(c.Routes), "-batch", "-"); err != nil {
		return 0, err
	}
	_ = command("tc", "qdisc", "replace", "dev", outside, "root", "noqueue")
	if c.Rules == "" {
		return tap, nil
	}
	return tap, fed("nft", c.Rules, "-f", "-")
}

// openTAP makes a device by which frames come, with a header that tells whether checksums are right, as a NIC does.
func openTAP(name string) (int, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("/dev/net/tun: %w", err)
	}
	request, err := unix.NewIfreq(name)
	if err != nil {
		return 0, err
	}
	request.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI | unix.IFF_VNET_HDR)
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TUNSETIFF, uintptr(unsafe.Pointer(request))); errno != 0 {
		return 0, os.NewSyscallError("TUNSETIFF", errno)
	}
	return fd, nil
}

func command(name string, args ...string) error { return fed(name, "", args...) }

func fed(name, input string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Stdin = strings.NewReader(input)
	if out, err := cmd.CombinedOutput(); err != nil {
		first, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
		if first == "" {
			first = err.Error()
		}
		return fmt.Errorf("%s: %s", name, first)
	}
	return nil
}

// burst is how many frames are timed at once.
const burst = 32

// vnetHeader is a struct virtio_net_hdr: checksums are right (VIRTIO_NET_HDR_F_DATA_VALID).
var vnetHeader = [10]byte{2}

// replay writes frames into the device. The kernel does all of its work on a frame before the write returns: on this thread, with its core.
func (r *Request) replay(tap, core int) (*Report, error) {
	frames, err := readFrames(r.Capture)
	if err != nil {
		return nil, err
	}
	var set unix.CPUSet
	set.Set(core)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return nil, os.NewSyscallError("sched_setaffinity", err)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	at := 0
	write := func() error {
		for range burst {
			f := frames[at]
			if n, _, errno := unix.RawSyscall(unix.SYS_WRITE, uintptr(tap), uintptr(unsafe.Pointer(&f[0])), uintptr(len(f))); errno != 0 || int(n) != len(f) {
				return fmt.Errorf("%d of %d bytes written: %w", n, len(f), errno)
			}
			if at++; at == len(frames) {
				at = 0
			}
		}
		return nil
	}
	limit := r.Limit
	for end, n := time.Now().Add(limit), 0; n < r.Warmup && (r.WarmUpAll || time.Now().Before(end)); n += burst {
		if err := write(); err != nil {
			return nil, err
		}
	}
	before, err := forwarded()
	if err != nil {
		return nil, err
	}
	times := make([]float64, 0, r.Measured/burst+1)
	begin := time.Now()
	last := begin
	for len(times)*burst < r.Measured && last.Sub(begin) < limit {
		if err := write(); err != nil {
			return nil, err
		}
		now := time.Now()
		times = append(times, float64(now.Sub(last))/burst)
		last = now
	}
	after, err := forwarded()
	if err != nil {
		return nil, err
	}
	mean := float64(last.Sub(begin)) / float64(len(times)*burst)
	slices.Sort(times)
	return &Report{Packets: uint64(len(times) * burst), Forwarded: after - before, Connections: connections(), Median: times[len(times)/2], Mean: mean}, nil
}

// connections is how many are tracked; 0 if none ever was.
func connections() int {
	text, _ := os.ReadFile("/proc/sys/net/netfilter/nf_conntrack_count")
	n, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return n
}

// forwarded is how many packets the namespace's kernel has sent: a dummy counts them as sent, an ifb as received.
func forwarded() (uint64, error) {
	text, err := os.ReadFile("/proc/thread-self/net/dev")
	if err != nil {
		return 0, err
	}
	for _, line := range strings.Split(string(text), "\n") {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), outside+":"); ok {
			var rx, tx uint64
			n := strings.Fields(rest)
			rx, err = strconv.ParseUint(n[1], 10, 64)
			if err == nil {
				tx, err = strconv.ParseUint(n[9], 10, 64)
			}
			return rx + tx, err
		}
	}
	return 0, errors.New("/proc/net/dev has no device " + outside)
}
