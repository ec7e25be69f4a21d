package nbd

// Constants of the protocol, named as in
// https://github.com/NetworkDefinition/nbd/blob/master/doc/proto.md ("NBD
// protocol", the newstyle negotiation and simple replies). Numbers travel in
// network byte order.
const (
	magicServer  = 0x4e42444d41474943 // "NBDMAGIC"
	magicOption  = 0x49484156454f5054 // "IHAVEOPT"
	magicReply   = 0x3e889045565a9    // of an option
	magicRequest = 0x25609513
	magicSimple  = 0x67446698 // reply to a request

	flagFixedNewstyle = 1 << 0 // of the handshake, both directions
	flagNoZeroes      = 1 << 1

	optExportName = 1
	optAbort      = 2
	optList       = 3
	optInfo       = 6
	optGo         = 7

	repAck        = 1
	repServer     = 2
	repInfo       = 3
	repErrUnsup   = 1<<31 + 1
	repErrInvalid = 1<<31 + 3
	repErrUnknown = 1<<31 + 6
	repErrTooBig  = 1<<31 + 9

	infoExport    = 0
	infoBlockSize = 3

	flagHasFlags    = 1 << 0 // of the export
	flagSendFlush   = 1 << 2
	flagSendFUA     = 1 << 3
	flagRotational  = 1 << 4
	flagSendTrim    = 1 << 5
	flagWriteZeroes = 1 << 6
	flagMultiConn   = 1 << 8 // all connections see the same at once

	cmdRead        = 0
	cmdWrite       = 1
	cmdDisconnect  = 2
	cmdFlush       = 3
	cmdTrim        = 4
	cmdWriteZeroes = 6

	cmdFlagFUA    = 1 << 0
	cmdFlagNoHole = 1 << 1 // of cmdWriteZeroes

	errIO    = 5 // of a reply; 0: success
	errInval = 22
	errNoSpc = 28
)

// Limits on what a client may send or request, in bytes unless stated
// otherwise.
const (
	// MaxPayload is the maximum size of a read or write. It is the limit
	// that the protocol's document suggests, and QEMU's own.
	MaxPayload = 32 << 20

	minBlock       = 512
	preferredBlock = 4096

	maxOptions    = 64   // options of a handshake
	maxOption     = 8192 // of an option that is parsed: a name may have 4096
	maxSkip       = 1 << 20
	maxFlying     = 256      // requests in flight per connection
	maxFlyingData = 64 << 20 // their data; one request is always admitted

	headerLength = 28
	replyLength  = 16
)
