package confined

import "k8s.io/apimachinery/pkg/types"

// Keep keeps a process of another command.
func (c *Compiler) Keep(of types.NamespacedName, command ...string) error {
	p, err := start(command)
	if err == nil {
		c.kept.put(of, p, 0)
	}
	return err
}

// KeptMemory is the bytes that all of them take.
func (c *Compiler) KeptMemory() int64 { return c.kept.memory() }

// Kept are the identities of the processes that are kept.
func (c *Compiler) Kept() (pids []int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.kept {
		pids = append(pids, p.cmd.Process.Pid)
	}
	return pids
}
