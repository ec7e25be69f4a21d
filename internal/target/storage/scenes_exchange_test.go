package storage

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"whichfs/internal/testing/wait"
)

// exchangeScenes: media that change hands. The host of the guest is the hand:
// internal/host/machine/qemu plays these.
var exchangeScenes = []scene{
	{name: "usb stick", want: named, says: []string{"STICK@", "precious"}, stage: func(s *stage) {
		s.target(s.formatted(s.plug("usb1")))
	}},
	{name: "mounted usb stick", want: refusal, says: []string{"mounted at"}, stage: func(s *stage) {
		s.storage = s.formatted(s.plug("usb1"))
		s.knownAs(s.storage)
		s.mount(s.storage, "ext4")
	}},
	{name: "usb stick with the name of one that was exchanged for it", want: named, stage: func(s *stage) {
		s.storage = s.plug("usb1")
		s.recommended()
		s.unplug()
		s.watched = nil
		s.target(s.plug("usb2"))
	}},
	{name: "usb reader with the name of the medium before", want: named, stage: func(s *stage) {
		s.storage = s.plug("usb1")
		s.recommended()
		s.host("insert usb2")
		s.target(s.storage)
	}},
	{name: "usb reader without a medium", want: refusal, probe: notProbed, says: []string{"no medium"}, stage: func(s *stage) {
		s.storage = s.plug("usb1")
		s.host("eject")
		s.watched, s.media = nil, []string{"usb1"}
	}},
	{name: "usb medium exchanged after the claim", want: gone, stage: plugged, change: func(s *stage) {
		s.exchanged("insert usb2")
	}},
	{name: "usb medium exchanged between two trials", want: gone, look: true, stage: plugged, change: func(s *stage) {
		s.exchanged("insert usb2")
	}},
	{name: "usb medium taken out after the claim", want: gone, stage: plugged, change: func(s *stage) {
		s.watched, s.media = nil, nil
		s.host("eject")
	}},
	{name: "usb stick exchanged after the claim", want: gone, stage: plugged, change: func(s *stage) {
		s.unplug()
		s.exchanged("plug usb2")
	}},
	{name: "usb stick exchanged between two trials", want: gone, look: true, stage: plugged, change: func(s *stage) {
		s.unplug()
		s.exchanged("plug usb2")
		s.stick()
	}},
	{name: "card", want: named, says: []string{"precious"}, stage: func(s *stage) {
		s.target(s.formatted(s.card("card1")))
	}},
	{name: "card of the lab that is no lab", want: refusal, probe: notProbed, says: []string{"lab"}, stage: func(s *stage) {
		path := s.card("card1")
		s.fill(path, 0, diskSize)
		s.storage = "mmc:0"
	}},
	{name: "card of the lab", want: ours, lab: true, stage: func(s *stage) {
		path := s.card("card1")
		s.fill(path, 0, diskSize)
		s.target(path)
		s.storage = "mmc:0"
	}},
	{name: "mounted card", want: refusal, says: []string{"mounted at"}, stage: func(s *stage) {
		s.storage = s.formatted(s.card("card1"))
		s.knownAs(s.storage)
		s.mount(s.storage, "ext4")
	}},
	{name: "write-protected card", want: refusal, probe: probed, says: []string{"read-only"}, stage: func(s *stage) {
		s.storage = s.card("card1")
		s.knownAs(s.storage)
		s.set("/sys/block/"+filepath.Base(s.storage)+"/force_ro", "1")
	}},
	{name: "card exchanged after the claim", want: gone, stage: func(s *stage) {
		s.target(s.formatted(s.card("card1")))
	}, change: anotherCard},
	{name: "card exchanged between two trials", want: gone, look: true, stage: func(s *stage) {
		s.target(s.formatted(s.card("card1")))
	}, change: anotherCard},
}

// anotherCard takes the card out and puts another one in. QEMU's cards have one
// identity (CID), and the kernel would take the second for the first if it did
// not see the slot empty.
func anotherCard(s *stage) {
	s.watched = nil
	s.host("card")
	s.noCard()
	s.exchanged("card card2")
	wait.Until(s.T, "the other card", func() bool { all, _ := filepath.Glob("/sys/block/mmcblk?"); return len(all) == 1 })
}

func (s *stage) noCard() {
	wait.Until(s.T, "the card is gone", func() bool { all, _ := filepath.Glob("/sys/block/mmcblk?"); return len(all) == 0 })
}

func plugged(s *stage) { s.target(s.formatted(s.plug("usb1"))) }

// hostSays is what the guest's host answers.
var hostSays = bufio.NewReader(os.Stdin)

// host asks the guest's host to do something with its hardware, and waits until
// it is done. It returns what the host has to say.
func (s *stage) host(request string) string {
	s.Helper()
	fmt.Println("host: " + request)
	line, err := hostSays.ReadString('\n')
	answer, ok := strings.CutPrefix(strings.TrimSpace(line), "done")
	if err != nil || !ok {
		s.Fatalf("the host, asked to %s: %q %v", request, line, err)
	}
	return strings.TrimSpace(answer)
}

// exchanged has the host put in another medium, whose contents only the host
// looks at from here on: a look from within would have the kernel notice.
func (s *stage) exchanged(request string) {
	s.Helper()
	s.watched = nil
	s.host(request)
	words := strings.Fields(request)
	s.media = []string{words[len(words)-1]}
}

// plug plugs in a stick: a reader with a medium of that name, all of the same
// serial number.
func (s *stage) plug(medium string) string {
	s.Helper()
	s.host("plug " + medium)
	s.Cleanup(s.unplug)
	path := s.stick()
	s.watch(path)
	return path
}

// unplug also waits until the kernel has let the stick go: until then, whoever
// looks for the next one finds this one.
func (s *stage) unplug() {
	s.Helper()
	s.host("unplug")
	wait.Until(s.T, "the stick is gone", func() bool { return len(s.disksOf("QEMU HARDDISK")) == 0 })
}

// stick waits for the one that is plugged in.
func (s *stage) stick() (path string) {
	s.Helper()
	wait.Until(s.T, "the stick", func() bool {
		sticks := s.disksOf("QEMU HARDDISK")
		if len(sticks) == 1 && opens(sticks[0]) {
			path = sticks[0]
		}
		return path != ""
	})
	return path
}

// card puts a card into the slot.
func (s *stage) card(medium string) (path string) {
	s.Helper()
	s.host("card " + medium)
	wait.Until(s.T, "the card", func() bool {
		all, _ := filepath.Glob("/sys/block/mmcblk?")
		if len(all) == 1 && read(all[0], "size") != "0" {
			path = "/dev/" + filepath.Base(all[0])
		}
		return path != "" && opens(path)
	})
	s.Cleanup(func() {
		s.host("card")
		s.noCard()
	})
	s.watch(path)
	return path
}

// recommended takes note of the name that the storage has now.
func (s *stage) recommended() {
	s.Helper()
	r := s.isRefused("", Options{})
	if r == nil {
		return
	}
	s.names = append(s.names, strings.Trim(strings.TrimPrefix(r.Type, "--destroy "), "'"))
}
