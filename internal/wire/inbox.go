package wire

import "fmt"

// Inbox receives the messages of a connection, and can listen for the next one during other work.
// It is used from one goroutine at a time.
type Inbox struct {
	Conn    *Conn
	pending chan Received // a receive that was begun by Listen; else nil
}

// Received is the outcome of one receive.
type Received struct {
	Message Message
	Err     error
}

// Receive returns the next message, which may have arrived since Listen.
func (i *Inbox) Receive() (Message, error) {
	if i.pending == nil {
		return i.Conn.Receive()
	}
	r := <-i.pending
	i.pending = nil
	return r.Message, r.Err
}

// Go waits for KindGo of the request with the number.
func (i *Inbox) Go(id uint64) error {
	m, err := i.Receive()
	for err == nil && m.Kind == KindStop { // of a probe that has ended meanwhile
		m, err = i.Receive()
	}
	if err == nil && (m.Kind != KindGo || m.ID != id) {
		err = fmt.Errorf("%q of request %d, and not %q of %d", m.Kind, m.ID, KindGo, id)
	}
	return err
}

// Listen begins to receive, and returns where the outcome arrives. Whoever takes it calls Accept or
// Return.
func (i *Inbox) Listen() <-chan Received {
	if i.pending == nil {
		pending := make(chan Received, 1)
		go func() {
			m, err := i.Conn.Receive()
			pending <- Received{m, err}
		}()
		i.pending = pending
	}
	return i.pending
}

// Accept ends a receive whose outcome was taken.
func (i *Inbox) Accept() { i.pending = nil }

// Return leaves an outcome that was taken to the next Receive.
func (i *Inbox) Return(r Received) { i.pending <- r }
