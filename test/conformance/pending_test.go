package conformance

// pending are differences that changes under way take away.
var pending = []*difference{}
