package compile

const mib = 1 << 20

// agentMemory is the memory in MiB with which an agent builds tables from texts of so many bytes: 16 times as much. It doubles where it changes, as a
// change replaces pods.
func agentMemory(bytes int) int32 {
	n := int32(256)
	for ; int(n)*mib < 16*bytes; n *= 2 {
	}
	return n
}
