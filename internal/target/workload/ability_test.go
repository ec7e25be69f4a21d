package workload

import (
	"strings"
	"testing"

	"whichfs/internal/filesystem"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/testing/needs"
)

// Tools that report success and do nothing, or damage a file, show no ability.
func TestAbilityIsShown(t *testing.T) {
	needs.Devices(t)
	argv := func(all ...[]string) func(filesystem.Object) [][]string {
		return func(filesystem.Object) [][]string { return all }
	}
	idle := filesystem.Means{Steps: argv([]string{"true"}), From: "ext3", View: func(string) (string, []string) { return "", nil }}
	whole := filesystem.Ext4().Abilities
	harmful := whole[filesystem.GrowOffline]
	harmful.Steps = func(o filesystem.Object) [][]string {
		return append(whole[filesystem.GrowOffline].Steps(o), []string{"debugfs", "-w", "-R", "rm /" + abilityFiles + "/7", o.Device})
	}
	unlike := whole[filesystem.OfflineImage]
	unlike.Steps = func(o filesystem.Object) [][]string {
		return append([][]string{{"rm", o.Tree + "/" + abilityFiles + "/link"}}, whole[filesystem.OfflineImage].Steps(o)...)
	}
	for _, x := range []struct {
		name  filesystem.Ability
		means filesystem.Means
		want  string // in the reason; empty: it is shown
	}{
		{filesystem.GrowOffline, whole[filesystem.GrowOffline], ""},
		{filesystem.ShrinkOffline, whole[filesystem.ShrinkOffline], ""},
		{filesystem.Defragment, whole[filesystem.Defragment], ""},
		{filesystem.Convert, whole[filesystem.Convert], ""},
		{filesystem.Relabel, whole[filesystem.Relabel], ""},
		{filesystem.OfflineImage, whole[filesystem.OfflineImage], ""},
		{filesystem.GrowOffline, harmful, "no longer the same"},
		{filesystem.GrowOnline, idle, "statfs shows"},
		{filesystem.GrowOffline, idle, "statfs shows"},
		{filesystem.ShrinkOffline, idle, "failed before any fault: mount"}, // of a device that is too small
		{filesystem.Defragment, idle, "extents before and"},
		{filesystem.Snapshot, idle, "no longer the same"},
		{filesystem.Scrub, idle, "does not report a flipped bit"},
		{filesystem.Convert, idle, "blkid takes it for \"ext3\""},
		{filesystem.Relabel, idle, "blkid reads"},
		{filesystem.NewUUID, idle, "blkid reads"},
		{filesystem.OfflineImage, idle, "mount"},
		{filesystem.OfflineImage, unlike, "no longer the same"},
		{filesystem.Relabel, filesystem.Means{Steps: argv([]string{"false"})}, "false: exit status 1"},
	} {
		fs := filesystem.Ext4()
		fs.Abilities = map[filesystem.Ability]filesystem.Means{x.name: x.means}
		env := &Env{Candidate: filesystem.Candidate{FS: "ext4"}, FS: fs, Work: t.TempDir()}
		_, extra, err := perform(t, env, Ability, scenario.Step{Ability: string(x.name)})
		if err != nil || len(extra.Measurements) != 1 {
			t.Fatalf("%s: %v, %+v", x.name, err, extra)
		}
		m := extra.Measurements[0]
		t.Logf("%s: %s, %+v", x.name, m.Absent, extra.Notes)
		if m.Metric != result.Able || (m.Absent == "") != (x.want == "") || !strings.Contains(m.Absent, x.want) || x.want == "" && m.Value != 1 {
			t.Errorf("%s: %+v, want %q", x.name, m, x.want)
		}
	}
}

// What cannot be tried says why, and is no failure.
func TestAbilityIsAbsent(t *testing.T) {
	for _, x := range []struct {
		env  Env
		name filesystem.Ability
		want string
	}{
		{Env{FS: filesystem.Xfs()}, filesystem.ShrinkOnline, "it shrinks by no more than"},
		{Env{FS: filesystem.Jfs()}, filesystem.Snapshot, "it has no such tool"},
		{Env{FS: filesystem.Jffs2(), Raw: true}, filesystem.OfflineImage, "on block devices"},
	} {
		job, err := Ability.Setup(t.Context(), &x.env, scenario.Step{Ability: string(x.name)})
		if err != nil || !strings.Contains(job.Absent, x.want) || len(job.AbsentMetrics) != 1 {
			t.Errorf("%s: %+v, %v", x.name, job, err)
		}
	}
	if _, err := Ability.Setup(t.Context(), &Env{FS: filesystem.Ext4()}, scenario.Step{Ability: "fly"}); err == nil {
		t.Error("an unknown ability was accepted")
	}
}
