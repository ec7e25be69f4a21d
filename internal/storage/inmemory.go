package storage

// InMemory reports whether the storage lies in a guest's memory, so that it is
// never waited for: all that it costs, the processor spends.
func (s Spec) InMemory() bool { return s.Kind == KindRAM || s.Kind == KindNAND }
