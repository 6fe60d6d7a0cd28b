package click

func (l *lowerer) groupRewriters() {}

type rewritePattern struct{}
type translation struct{}

func (l *lowerer) readPatterns(*reader) {}
