package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/spf13/cobra"
)

// Report is what became of a stream of numbered datagrams.
type Report struct {
	Sent     int   `json:"sent"`
	Received int   `json:"received"` // different ones that came back
	Lost     int   `json:"lost"`
	Doubled  int   `json:"doubled"` // came back more than once
	Longest  Gap   `json:"longest"` // run of lost ones
	Gaps     []Gap `json:"gaps"`    // all runs of lost ones, the first 100
	MeanRTT  int64 `json:"meanRTT"` // in microseconds
}

// Gap is a run of datagrams that did not come back.
type Gap struct {
	At    float64 `json:"at"`    // seconds after the start
	Lost  int     `json:"lost"`  // datagrams
	Lasts float64 `json:"lasts"` // seconds
}

func newSend() *cobra.Command {
	s := sender{}
	cmd := &cobra.Command{
		Use:   "send",
		Short: "Send numbered datagrams at a steady rate, and report in JSON which came back",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			report, err := s.run(cmd.Context())
			if err != nil {
				return err
			}
			return json.NewEncoder(cmd.OutOrStdout()).Encode(report)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&s.to, "to", "", "address that sends datagrams back")
	flags.StringVar(&s.from, "from", "", "own address and port (default: any)")
	flags.IntVar(&s.rate, "rate", 1000, "datagrams per second")
	flags.DurationVar(&s.lasts, "for", 10*time.Second, "how long; an earlier SIGTERM ends it in order")
	flags.IntVar(&s.size, "size", 200, "bytes of each, without headers")
	flags.DurationVar(&s.patience, "patience", 2*time.Second, "how long the last ones are waited for")
	return cmd
}

type sender struct {
	to, from        string
	rate, size      int
	lasts, patience time.Duration
}

func (s *sender) run(ctx context.Context) (*Report, error) {
	to, err := net.ResolveUDPAddr("udp4", s.to)
	if err != nil {
		return nil, fmt.Errorf("--to: %w", err)
	}
	var from *net.UDPAddr
	if s.from != "" {
		if from, err = net.ResolveUDPAddr("udp4", s.from); err != nil {
			return nil, fmt.Errorf("--from: %w", err)
		}
	}
	if s.size < stampBytes || s.rate < 1 {
		return nil, fmt.Errorf("--size %d, --rate %d: want at least %d bytes and 1 per second", s.size, s.rate, stampBytes)
	}
	conn, err := net.DialUDP("udp4", from, to)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := deepBuffers(conn); err != nil {
		return nil, err
	}
	start := time.Now()
	back := make(chan []answer)
	go func() { back <- receive(conn, start) }()
	sent := s.send(ctx, conn, start)
	if err := conn.SetReadDeadline(time.Now().Add(s.patience)); err != nil {
		return nil, err
	}
	return account(sent, <-back, s.rate), nil
}

// A datagram begins with its number and the time after the start, in nanoseconds.
const stampBytes = 16

func (s *sender) send(ctx context.Context, conn *net.UDPConn, start time.Time) (sent int) {
	datagram := make([]byte, s.size)
	pause := time.Second / time.Duration(s.rate)
	for until := start.Add(s.lasts); ; {
		due := start.Add(time.Duration(sent) * pause)
		if !due.Before(until) {
			return sent
		}
		if wait := time.Until(due); wait > 0 {
			select {
			case <-ctx.Done():
				return sent
			case <-time.After(wait):
			}
		} else if ctx.Err() != nil {
			return sent
		}
		binary.BigEndian.PutUint64(datagram, uint64(sent))
		binary.BigEndian.PutUint64(datagram[8:], uint64(time.Since(start)))
		_, _ = conn.Write(datagram) // refused by an ICMP error of before: lost, as it should count
		sent++
	}
}

type answer struct {
	number uint64
	rtt    time.Duration
}

// receive reads until the deadline that is set after the last datagram was sent.
func receive(conn *net.UDPConn, start time.Time) (back []answer) {
	buffer := make([]byte, maxDatagram)
	for {
		n, err := conn.Read(buffer)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return back
		}
		if err != nil || n < stampBytes {
			continue
		}
		then := time.Duration(binary.BigEndian.Uint64(buffer[8:]))
		back = append(back, answer{binary.BigEndian.Uint64(buffer), time.Since(start) - then})
	}
}

// account finds what is missing.
func account(sent int, back []answer, rate int) *Report {
	report := &Report{Sent: sent, Gaps: []Gap{}}
	seen := make([]bool, sent)
	var sum time.Duration
	for _, a := range back {
		switch {
		case a.number >= uint64(sent): // not ours
		case seen[a.number]:
			report.Doubled++
		default:
			seen[a.number] = true
			report.Received++
			sum += a.rtt
		}
	}
	if report.Received > 0 {
		report.MeanRTT = (sum / time.Duration(report.Received)).Microseconds()
	}
	for i := 0; i < sent; i++ {
		first := i
		for i < sent && !seen[i] {
			i++
		}
		if i == first {
			continue
		}
		gap := Gap{At: float64(first) / float64(rate), Lost: i - first, Lasts: float64(i-first) / float64(rate)}
		report.Lost += gap.Lost
		if gap.Lost > report.Longest.Lost {
			report.Longest = gap
		}
		if len(report.Gaps) < 100 {
			report.Gaps = append(report.Gaps, gap)
		}
	}
	return report
}
