package kernel

import (
	"encoding/binary"
	"fmt"
	"os"
)

// readFrames are a capture's frames, each after a header for the TAP device.
func readFrames(path string) ([][]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	const fileHeader, recordHeader = 24, 16
	if len(data) < fileHeader || binary.NativeEndian.Uint32(data) != 0xa1b2c3d4 {
		return nil, fmt.Errorf("%s is no pcap file of this machine", path)
	}
	var frames [][]byte
	for at := fileHeader; at < len(data); {
		if len(data)-at < recordHeader {
			return nil, fmt.Errorf("%s ends within a record's header", path)
		}
		size := int(binary.NativeEndian.Uint32(data[at+8:]))
		if len(data)-at-recordHeader < size {
			return nil, fmt.Errorf("%s ends within a frame", path)
		}
		at += recordHeader
		copy(data[at-len(vnetHeader):], vnetHeader[:]) // over the record's own header, which has been read
		frames = append(frames, data[at-len(vnetHeader):at+size])
		at += size
	}
	if len(frames) == 0 {
		return nil, fmt.Errorf("%s has no frames", path)
	}
	return frames, nil
}
