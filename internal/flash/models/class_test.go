package models

import (
	"math"
	"testing"

	"whichfs/internal/flash"
)

// What the sources of the shipped models state, and how close a model must
// come in virtual time. If a source states the minimum of a class, a model
// must reach it and exceed it at most by the given share.
func TestClasses(t *testing.T) {
	for _, c := range []struct {
		model  string
		figure string
		stated float64 // B/s or requests per second
		from   string
		within float64 // share; negative: the figure is the minimum, and this much more is allowed
	}{
		// pandora-2012, dd.
		{"pandora-sdxc-64g", "read", 15e6, "pandora-2012, dd", 0.03},
		{"pandora-sdxc-64g", "write", 15e6, "pandora-2012, dd", 0.03},
		{"pandora-sdhc-16g", "read", 13.5e6, "pandora-2012, dd", 0.03},
		{"pandora-sdhc-16g", "write", 16.1e6, "pandora-2012, dd", 0.03},
		{"pandora-microsdhc-16g", "read", 18.8e6, "pandora-2012, dd", 0.03},
		{"pandora-microsdhc-16g", "write", 12.6e6, "pandora-2012, dd", 0.03},
		{"pandora-microsdhc-16g-open", "read", 18.8e6, "pandora-2012, dd", 0.03},
		{"pandora-microsdhc-16g-open", "write", 12.6e6, "pandora-2012, dd", 0.03},
		// Tom's Hardware, 2011, the same product: 4 KiB at random places.
		{"pandora-microsdhc-16g", "random-write-queued", 1e6 / 4096, "just over 1 MB/s", -2},
		// flashbench's README, an SD card of that time.
		{"pandora-sdxc-64g", "random-read", 1 / 900e-6, "735 us for 1 KiB, so about 900 for 4", 0.1},
		// SD Association.
		{"sd-basic", "read", 50e6, "SDR50, the bus", 0.1},
		{"sd-basic", "write", 10e6, "class 10", -1.5},
		{"sd-a2", "write", 10e6, "A2", -2.5},
		{"sd-a2", "random-read-queued", 4000, "A2", -0.2},
		{"sd-a2", "random-write-queued", 2000, "A2", -2},
		{"sd-class4", "write", 4e6, "class 4", -0.5},
		{"sd-class6", "write", 6e6, "class 6", -0.5},
		{"sd-class6", "read", 13.5e6, "pandora-2012, dd of its card of class 6", 0.03},
		{"sd-class10", "write", 10e6, "class 10", -0.5},
		{"sd-class10", "read", 12.5e6, "hdparm on a BeagleBone Black", 0.03},
		{"emmc-4g", "write", 6e6, "class 6, which elc-2015 calls its equal", -0.5},
		{"emmc-4g", "read", 52e6, "the bus at high speed", 0.25},
		// Data sheets.
		{"emmc", "read", 250e6, "Samsung's announcement", 0.05},
		{"emmc", "write", 125e6, "Samsung's announcement", 0.05},
		{"emmc", "random-read-queued", 11_000, "Samsung's announcement", 0.05},
		{"emmc", "random-write-queued", 13_000, "Samsung's announcement", 0.25},
		{"usb-stick", "read", 31.8e6, "HD Tach", 0.03},
		{"ssd-sata-usb", "random-read-queued", 98_000, "Samsung 860 EVO", 0.05},
		{"nvme", "read-queued", 3400e6, "Samsung 970 EVO", 0.05},
		{"nvme", "burst-queued", 2300e6, "Samsung 970 EVO", 0.1},
		{"nvme", "write", 600e6, "Samsung 970 EVO", 0.15},
		{"nvme", "random-read", 15_000, "Samsung 970 EVO", 0.05},
		{"nvme", "small-write", 50_000, "Samsung 970 EVO", 0.05},
		{"nvme", "random-read-queued", 370_000, "Samsung 970 EVO", 0.05},
		{"devbuild-usb-ssd", "read-queued", 500 << 20, "devbuild-gist", 0.05},
		{"devbuild-usb-ssd", "write", 300 << 20, "devbuild-gist", 0.05},
		{"devbuild-usb-ssd", "random-read-queued", 41_000, "Intel SSD 530", 0.05},
		{"devbuild-nvme", "read-queued", 1500e6, "Intel SSD 660p", 0.05},
		{"devbuild-nvme", "write", 650e6, "devbuild-gist, 600 to 700 MB/s", 0.05},
		{"devbuild-nvme", "random-read-queued", 90_000, "Intel SSD 660p", 0.05},
		{"devbuild-hdd", "read", 137e6, "Seagate BarraCuda, 2 % from the outer edge", 0.05},
		// A seek over the mean distance, half a revolution, the
		// command and the transfer: 12 + 5.56 + 0.1 + 0.1 ms.
		{"hdd", "random-read", 56.3, "Hitachi Travelstar 5K320, seek and rotation", 0.1},
		{"hdd", "read", 75e6, "the outer tracks", 0.1},
	} {
		got, err := figure(c.model, c.figure)
		if err != nil {
			t.Errorf("%s: %v", c.model, err)
			continue
		}
		if c.within < 0 {
			if got < c.stated || got > c.stated*(1-c.within) {
				t.Errorf("%s: %s is %.4g, %s requires %.4g or more (at most %.0f %% more)", c.model, c.figure, got, c.from, c.stated, -100*c.within)
			}
			continue
		}
		if math.Abs(got/c.stated-1) > c.within {
			t.Errorf("%s: %s is %.4g, %s states %.4g (within %.0f %%)", c.model, c.figure, got, c.from, c.stated, 100*c.within)
		}
	}
}

// testSize is how much of a device is measured: more if segments matter, less
// if all pages are alike.
func testSize(m flash.Model) int64 {
	if m.Map.Scheme == flash.SchemePage {
		return 384 << 20
	}
	return 1 << 30
}

var taken = map[string]Speeds{}

// figure measures one figure of a shipped model.
func figure(model, what string) (float64, error) {
	m, err := ByName(model)
	if err != nil {
		return 0, err
	}
	s, ok := taken[model]
	if !ok {
		if s, err = measure(m, testSize(m)); err != nil {
			return 0, err
		}
		taken[model] = s
	}
	switch what {
	case "read":
		return s.Read, nil
	case "write":
		return s.Write, nil
	case "random-read":
		return s.RandomRead, nil
	case "small-write":
		return s.SmallWrite, nil
	case "random-read-queued":
		return s.QueuedRandomRead, nil
	}
	// The rest follows the test of a class, on a new device.
	size := testSize(m)
	if what == "burst-queued" {
		size = 1 << 30 // the fast cache must hold it
	}
	if m, err = Sized(m, size); err != nil {
		return 0, err
	}
	dev, err := flash.New(m)
	if err != nil {
		return 0, err
	}
	g := newLoad(dev)
	var got float64
	switch what {
	case "read-queued":
		g.rate(flash.Write, inOrder(0, stream), stream, 400, 1)
		g.settle()
		got = g.rate(flash.Read, inOrder(0, stream), stream, 400, 8) * stream
	case "burst-queued":
		got = g.rate(flash.Write, inOrder(0, stream), stream, 100, 8) * stream
	case "random-write-queued":
		// Within 256 MiB, as application performance is tested.
		g.rate(flash.Write, inOrder(0, stream), stream, 512, 1)
		g.settle()
		within := int64(256<<20) / small
		got = g.rate(flash.Write, func(int64) int64 { return g.rng.Int64N(within) * small }, small, 4000, dev.Depth())
	}
	return got, g.err
}
