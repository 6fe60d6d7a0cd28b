package main

import (
	"bufio"
	"encoding/binary"
	"os"
)

// writeCapture writes frames into a pcap file; millions of them, so without a library's allocations.
func writeCapture(path string, frames [][]byte) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
	}()
	w := bufio.NewWriterSize(f, 1<<20)
	head := binary.NativeEndian.AppendUint32(nil, 0xa1b2c3d4)
	head = binary.NativeEndian.AppendUint16(head, 2)
	head = binary.NativeEndian.AppendUint16(head, 4)
	for _, v := range []uint32{0, 0, 65535, 1} { // zone, accuracy, longest frame, Ethernet
		head = binary.NativeEndian.AppendUint32(head, v)
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	var record [16]byte // seconds and microseconds stay 0
	for _, frame := range frames {
		binary.NativeEndian.PutUint32(record[8:], uint32(len(frame)))
		binary.NativeEndian.PutUint32(record[12:], uint32(len(frame)))
		_, _ = w.Write(record[:])
		if _, err := w.Write(frame); err != nil {
			return err
		}
	}
	return w.Flush()
}
