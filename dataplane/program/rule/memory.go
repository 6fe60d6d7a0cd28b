package rule

import "github.com/sinter-nfv/sinter/dataplane/program/programpb"

// How state lies in an engine's memory: dataplane/engine/state/sn_shard.h.
const (
	Shards     = 128  // of a table, at most
	EntryBytes = 64   // what an entry takes
	RowBytes   = 1024 // what a row of entries takes
	WordBytes  = 4    // what a bucket takes
)

// Memory is what the memory of a table is laid out by. Shards of a table have the same.
type Memory struct {
	Most      int64 // entries of all shards together; 0: no bound but that of each shard
	Shards    int64
	Entries   int64 // of a shard, at most
	Buckets   int64 // of a shard, at least
	Bytes     int64 // of a shard, for what its kind keeps beside entries
	Rows      int64 // the same, in bytes of rows
	Elsewhere int64 // bytes beside the shards
}

// Flows is the memory of a table whose entries are flows, of which each shard may have all: where an address tells the shard, all may be of one.
func Flows(t *programpb.StateTable) Memory {
	n := int64(t.GetMaxSessions())
	return Memory{Most: n, Shards: Shards, Entries: n, Buckets: n/8 + 1}
}

// RoundUp is the least multiple of to that is n or more.
func RoundUp(n, to int64) int64 { return (n + to - 1) / to * to }
