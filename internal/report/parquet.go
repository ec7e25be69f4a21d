package report

import (
	"io"
	"math"
	"time"

	"github.com/parquet-go/parquet-go"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/result"
)

// ParquetRow is a row of the Parquet file: a measurement, like a row of the CSV, with the conditions
// by which runs are most often told apart.
type ParquetRow struct {
	Run       string     `parquet:"run,dict"`
	Study     string     `parquet:"study,dict"`
	Scale     string     `parquet:"scale,dict"`
	Machine   string     `parquet:"machine,dict"`
	Processor string     `parquet:"processor,dict"`
	Storage   string     `parquet:"storage,dict"`
	Kernel    string     `parquet:"kernel,dict"`
	Clock     string     `parquet:"clock,dict"`
	Version   string     `parquet:"whichfs,dict"`
	Round     int32      `parquet:"round"`
	Place     int32      `parquet:"place"`
	Candidate string     `parquet:"candidate,dict"`
	Variant   string     `parquet:"variant,dict"`
	Attempt   int32      `parquet:"attempt"`
	Outcome   string     `parquet:"outcome,dict"`
	Started   *time.Time `parquet:"started,optional,timestamp(microsecond)"`
	Phase     string     `parquet:"phase,dict"`
	Metric    string     `parquet:"metric,dict"`
	Value     *float64   `parquet:"value,optional"`
	Unit      string     `parquet:"unit,dict"`
	Absent    *string    `parquet:"absent,optional,dict"`
}

// parquetFile exports measurements as Parquet, compressed with Zstandard.
type parquetFile struct {
	w *parquet.GenericWriter[ParquetRow]
}

func newParquet(w io.Writer) Exporter {
	return &parquetFile{parquet.NewGenericWriter[ParquetRow](w, parquet.Compression(&parquet.Zstd), parquet.CreatedBy("whichfs", "", ""))}
}

// Add implements Exporter.
func (p *parquetFile) Add(v verdict.Verdict, trials []result.Trial) error {
	r := v.Run
	var rows []ParquetRow
	for _, t := range trials {
		row := ParquetRow{Run: r.ID, Study: r.Study, Scale: r.Scale, Machine: r.Machine, Processor: r.Processor, Storage: r.Storage, Kernel: r.Kernel(), Clock: r.ClockName(), Version: r.Version,
			Round: int32(t.Round), Place: int32(t.Place), Candidate: t.Candidate, Variant: t.Variant, Attempt: int32(t.Attempt), Outcome: string(t.Outcome)}
		if !t.Started.IsZero() {
			at := t.Started.UTC()
			row.Started = &at
		}
		for _, m := range figuresOr(t) {
			row.Phase, row.Metric, row.Unit, row.Value, row.Absent = m.Phase, m.Metric, m.Unit, nil, nil
			if m.Absent != "" || m.Metric == "" {
				why := m.Absent
				row.Absent = &why
			} else {
				value := m.Value
				row.Value = &value
			}
			rows = append(rows, row)
		}
	}
	_, err := p.w.Write(rows)
	return err
}

// Close implements Exporter.
func (p *parquetFile) Close() error { return p.w.Close() }

// figuresOr are a trial's measurements, each with a value or the reason why it has none. A trial
// without any has one without a metric, so that a failed trial is not simply missing.
func figuresOr(t result.Trial) []result.Measurement {
	if len(t.Measurements) == 0 {
		return []result.Measurement{{Phase: t.Phase, Absent: t.Reason}}
	}
	out := make([]result.Measurement, len(t.Measurements))
	for i, m := range t.Measurements {
		if m.Absent == "" && (math.IsNaN(m.Value) || math.IsInf(m.Value, 0)) {
			m.Absent = "not a finite number"
		}
		out[i] = m
	}
	return out
}
