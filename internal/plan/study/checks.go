package study

// Checks of several figures at once, and of figures with a meaning of their own.

// EveryCheck claims that every one of its checks holds.
type EveryCheck []Check

// PlaceCheck claims that the place of Candidate in the order of Among, the best
// being 1, is from From to To, in the geometric mean of the columns Keys.
// Candidates that are equal within the margin of interest share the better
// place. If all are, none is better, and it disagrees unless Shared.
type PlaceCheck struct {
	Keys      []string
	Candidate string
	Among     []string
	From, To  int
	Shared    bool
}

// LevelsCheck claims that Column of A is between Low and High times that of B at
// every point of Axis (of a factor) from From to To. To 0 and High 0 mean no
// upper limit. Every other point of the axis is judged as well and shown.
type LevelsCheck struct {
	Axis, Column string
	A, B         string
	From, To     float64 // on the axis
	Low, High    float64
}

// SmallestCheck compares the smallest storage on which Candidate can be made,
// mounted and written to, rounded up to whole MiB where the published figure is
// in MiB; and, on storage of the published size, the free space to 10 % and the
// number of inodes.
type SmallestCheck struct {
	Candidate string
	Size      int64   // B
	Free      float64 // B; 0: not published
	Inodes    int     // 0: not published
}

// FailureCheck claims that trials of Candidate fail with a reason that contains
// Reason, in whatever case.
type FailureCheck struct {
	Candidate, Reason string
}

// PowerCheck claims that Candidate keeps what was synced when the power goes: in
// cuts during writes where the run has them, and otherwise in the phases named,
// after a power loss with everything synced and nothing unmounted.
type PowerCheck struct {
	Candidate string
	Mount     string // the first mount after it
	Compare   string // phase that then compares all files with what was written (tree-compare)
}

// SweepCheck claims that the speed at one block size of a probe's curve is
// between Low and High times the best at the sizes Than. High 0 means no upper
// limit.
type SweepCheck struct {
	Curve string // its key
	// Block is the block size in bytes; Of, if not empty, is the key of the finding
	// that is the block size instead.
	Block     float64
	Of        string
	Than      Blocks
	Low, High float64
}

// RoomCheck claims that, of Candidate, what statfs calls available differs by at
// least Low, a share of all that fits, from what fits: in at least one of Cases,
// which are phases of the work "room".
type RoomCheck struct {
	Candidate string
	Cases     []string
	Low       float64
}

// Blocks are the block sizes that a SweepCheck compares with.
type Blocks string

// The block sizes besides its own.
const (
	AllBlocks     Blocks = "all"
	LargerBlocks  Blocks = "larger"
	SmallerBlocks Blocks = "smaller"
)

// Columns returns those of all its checks.
func (k EveryCheck) Columns() (keys []string) {
	for _, one := range k {
		keys = append(keys, one.Columns()...)
	}
	return keys
}

// The columns of each check. Reasons of failures, cuts and probes have none.
func (k PlaceCheck) Columns() []string  { return k.Keys }
func (k LevelsCheck) Columns() []string { return []string{k.Column} }
func (SmallestCheck) Columns() []string {
	return []string{SmallestKey, SmallestFreeKey, SmallestInodesKey}
}
func (FailureCheck) Columns() []string { return nil }
func (PowerCheck) Columns() []string   { return nil }
func (SweepCheck) Columns() []string   { return nil }
func (RoomCheck) Columns() []string    { return nil }

// Keys of the columns of a SmallestCheck.
const (
	SmallestKey       = "smallest"
	SmallestFreeKey   = "smallest-free"
	SmallestInodesKey = "smallest-inodes"
)
