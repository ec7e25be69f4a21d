package nbd

import (
	"encoding/binary"
	"io"
	"testing"
	"time"

	"whichfs/internal/flash/nbd/nbdtest"
)

// fuzz sends bytes to a server, closes its sending half and reads the rest.
// Whatever the bytes, the connection ends and the server continues.
func fuzz(t *testing.T, sent []byte) {
	s := New(newMemory(1<<16), Options{Trim: true, Handshake: 20 * time.Millisecond, Stall: 20 * time.Millisecond})
	client, server, err := nbdtest.Pair()
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(server) }()
	heard := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, client)
		close(heard)
	}()
	_, _ = client.Write(sent) // the server may end early
	if half, ok := client.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	<-ended
	<-heard
	_ = client.Close()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func FuzzHandshake(f *testing.F) {
	greeting := []byte{0, 0, 0, 3}
	f.Add([]byte{})
	f.Add(greeting)
	f.Add(append(greeting, nbdtest.Option(optGo, make([]byte, 6))...))
	f.Add(append(greeting, nbdtest.Option(optExportName, nil)...))
	f.Add(append(greeting, nbdtest.Option(optInfo, []byte{0, 0, 0, 1, 'x', 0, 1, 0, 3})...))
	f.Add(append(greeting, append(nbdtest.Option(8, nil), nbdtest.Option(optList, nil)...)...))
	f.Add(append(greeting, "IHAVEOPT\x00\x00\x00\x08\x00\x00\x30\x00..."...))
	f.Fuzz(fuzz)
}

func FuzzRequests(f *testing.F) {
	begin := append(binary.BigEndian.AppendUint32(nil, 3), nbdtest.Option(optExportName, nil)...)
	f.Add([]byte{})
	f.Add(nbdtest.Request(0, cmdRead, 1, 0, 512))
	f.Add(nbdtest.Request(0, cmdRead, 1, 0, MaxPayload))
	f.Add(append(nbdtest.Request(1, cmdWrite, 2, 512, 512), make([]byte, 512)...))
	f.Add(nbdtest.Request(0, cmdWrite, 2, 0, 1<<32-1))
	f.Add(append(nbdtest.Request(0, cmdFlush, 3, 0, 0), nbdtest.Request(0, cmdTrim, 4, 0, 4096)...))
	f.Add(append(nbdtest.Request(2, cmdWriteZeroes, 5, 1<<16-512, 1024), nbdtest.Request(0, 77, 4, 1<<63, 4096)...))
	f.Fuzz(func(t *testing.T, sent []byte) { fuzz(t, append(append([]byte(nil), begin...), sent...)) })
}

// FuzzTransmission draws a stream of well-formed requests from the bytes, so
// that the fuzzer gets beyond the first magic number. The fake device panics
// if a request outside it arrives.
func FuzzTransmission(f *testing.F) {
	begin := append(binary.BigEndian.AppendUint32(nil, 3), nbdtest.Option(optExportName, nil)...)
	f.Add([]byte{0, 0, 0, 1, 0, 1, 1, 2, 0, 1, 3, 0, 0, 0, 0, 4, 0, 9, 9, 9})
	f.Fuzz(func(t *testing.T, drawn []byte) {
		sent := append([]byte(nil), begin...)
		for ; len(drawn) >= 5 && len(sent) < 1<<16; drawn = drawn[5:] {
			command := uint16(drawn[0] % 8)
			if command == cmdDisconnect {
				command = 99
			}
			offset, length := uint64(drawn[2])<<9|uint64(drawn[1]&3), uint32(drawn[3])<<8
			if drawn[4]&0x80 != 0 {
				offset = -offset
			}
			sent = append(sent, nbdtest.Request(uint16(drawn[4]&7), command, uint64(len(sent)), offset, length)...)
			if command == cmdWrite {
				sent = append(sent, make([]byte, length)...)
			}
		}
		fuzz(t, sent)
	})
}
