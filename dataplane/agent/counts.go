package agent

import "sync/atomic"

// counts are attempts by how they ended.
type counts struct{ done, failed atomic.Uint64 }
