package nbd

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// errAborted means that the client aborted the handshake.
var errAborted = errors.New("the client aborted the handshake")

// handshake is the fixed newstyle negotiation with one client. The caller
// limits its duration.
type handshake struct {
	in       *bufio.Reader
	out      io.Writer
	size     int64
	flags    uint16 // of the export
	noZeroes bool
}

// run negotiates until the client selects the export: then it returns nil, and
// requests follow.
func (h *handshake) run() error {
	hello := binary.BigEndian.AppendUint64(nil, magicServer)
	hello = binary.BigEndian.AppendUint64(hello, magicOption)
	hello = binary.BigEndian.AppendUint16(hello, flagFixedNewstyle|flagNoZeroes)
	if _, err := h.out.Write(hello); err != nil {
		return err
	}
	var word [4]byte
	if _, err := io.ReadFull(h.in, word[:]); err != nil {
		return err
	}
	flags := binary.BigEndian.Uint32(word[:])
	if flags&^(flagFixedNewstyle|flagNoZeroes) != 0 {
		return fmt.Errorf("unknown client flags %#x", flags)
	}
	h.noZeroes = flags&flagNoZeroes != 0
	for range maxOptions {
		begun, err := h.option()
		if begun || err != nil {
			return err
		}
	}
	return fmt.Errorf("more than %d options", maxOptions)
}

// option reads one option and answers it; begun says that requests follow.
func (h *handshake) option() (begun bool, err error) {
	var head [16]byte
	if _, err := io.ReadFull(h.in, head[:]); err != nil {
		return false, err
	}
	if magic := binary.BigEndian.Uint64(head[:]); magic != magicOption {
		return false, fmt.Errorf("an option begins with %#x", magic)
	}
	option, length := binary.BigEndian.Uint32(head[8:]), binary.BigEndian.Uint32(head[12:])
	if length > maxOption {
		// An option of a megabyte is not a misunderstanding.
		if length > maxSkip || option == optExportName {
			return false, fmt.Errorf("option %d of %d bytes", option, length)
		}
		if _, err := io.CopyN(io.Discard, h.in, int64(length)); err != nil {
			return false, err
		}
		return false, h.reply(option, repErrTooBig, nil)
	}
	data := make([]byte, length)
	if _, err := io.ReadFull(h.in, data); err != nil {
		return false, err
	}
	switch option {
	case optExportName:
		return true, h.exportName(data)
	case optAbort:
		return false, errors.Join(h.reply(option, repAck, nil), errAborted)
	case optList:
		if length != 0 {
			return false, h.reply(option, repErrInvalid, nil)
		}
		if err := h.reply(option, repServer, []byte{0, 0, 0, 0}); err != nil { // an empty name
			return false, err
		}
		return false, h.reply(option, repAck, nil)
	case optInfo, optGo:
		return h.info(option, data)
	}
	return false, h.reply(option, repErrUnsup, nil)
}

// exportName answers the old way of selecting the export, which can only be
// refused by hanging up.
func (h *handshake) exportName(name []byte) error {
	if len(name) > 0 {
		return fmt.Errorf("there is no export %q", name)
	}
	answer := binary.BigEndian.AppendUint64(nil, uint64(h.size))
	answer = binary.BigEndian.AppendUint16(answer, h.flags)
	if !h.noZeroes {
		answer = append(answer, make([]byte, 124)...)
	}
	_, err := h.out.Write(answer)
	return err
}

// info describes the export; after optGo requests follow. The data is the
// length of a name, the name, a count of information items, the items.
func (h *handshake) info(option uint32, data []byte) (begun bool, err error) {
	if len(data) < 6 {
		return false, h.reply(option, repErrInvalid, nil)
	}
	name := uint64(binary.BigEndian.Uint32(data))
	if name > uint64(len(data)-6) {
		return false, h.reply(option, repErrInvalid, nil)
	}
	items := data[4+name:]
	if len(items) != 2+2*int(binary.BigEndian.Uint16(items)) {
		return false, h.reply(option, repErrInvalid, nil)
	}
	if name > 0 {
		return false, h.reply(option, repErrUnknown, nil)
	}
	export := binary.BigEndian.AppendUint16(nil, infoExport)
	export = binary.BigEndian.AppendUint64(export, uint64(h.size))
	export = binary.BigEndian.AppendUint16(export, h.flags)
	blocks := binary.BigEndian.AppendUint16(nil, infoBlockSize)
	for _, n := range []uint32{minBlock, preferredBlock, MaxPayload} {
		blocks = binary.BigEndian.AppendUint32(blocks, n)
	}
	for _, item := range [][]byte{export, blocks} {
		if err := h.reply(option, repInfo, item); err != nil {
			return false, err
		}
	}
	return option == optGo, h.reply(option, repAck, nil)
}

func (h *handshake) reply(option, kind uint32, data []byte) error {
	out := binary.BigEndian.AppendUint64(nil, magicReply)
	out = binary.BigEndian.AppendUint32(out, option)
	out = binary.BigEndian.AppendUint32(out, kind)
	out = binary.BigEndian.AppendUint32(out, uint32(len(data)))
	_, err := h.out.Write(append(out, data...))
	return err
}
