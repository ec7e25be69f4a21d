package twin

import (
	"fmt"
	"math"
	"strings"
	"time"

	"whichfs/internal/probe"
	"whichfs/internal/sys/units"
)

// Summary describes in a sentence or two how well a twin reproduces a device.
func Summary(measured probe.Report, rows []Row) string {
	var far, differ []string
	var figures int
	var worst Row
	for _, r := range rows {
		switch {
		case r.Curve:
		case r.Ratio > 0:
			figures++
			if worst.Name == "" || r.Off() > worst.Off() {
				worst = r
			}
			if r.Off() > 0.10 {
				far = append(far, fmt.Sprintf("%s (%s)", strings.ToLower(r.Name), units.Ratio(r.Ratio)))
			}
		case !r.Same:
			differ = append(differ, fmt.Sprintf("%s (%s, twin %s)", strings.ToLower(r.Name), r.Measured, r.Twin))
		}
	}
	f := fitter{r: measured}
	text := fmt.Sprintf("probe of %s on %s: ", f.device(), measured.Started.UTC().Format(time.DateOnly))
	switch {
	case figures == 0:
		text += "there are no figures to compare"
	case figures == 1 && len(far) == 0:
		text += fmt.Sprintf("the only common figure, %s, is within 10 %% (%s)", strings.ToLower(worst.Name), units.Ratio(worst.Ratio))
	case len(far) == 0:
		text += fmt.Sprintf("all %d figures within 10 %%, the worst is %s (%s)", figures, strings.ToLower(worst.Name), units.Ratio(worst.Ratio))
	default:
		text += fmt.Sprintf("%d of %d figures within 10 %%; not %s", figures-len(far), figures, strings.Join(far, ", "))
	}
	if len(differ) > 0 {
		text += "; different: " + strings.Join(differ, ", ")
	}
	if curves := curveSummary(rows); curves != "" {
		text += "; " + curves
	}
	return clean(text)
}

// curveSummary says where the curves differ most.
func curveSummary(rows []Row) string {
	var worst Row
	for _, r := range rows {
		if r.Curve && (worst.Name == "" || math.Abs(math.Log(r.Worst)) > math.Abs(math.Log(worst.Worst))) {
			worst = r
		}
	}
	if worst.Name == "" {
		return ""
	}
	return fmt.Sprintf("the curves differ most in %s at %s (%s)", strings.ToLower(worst.Name), worst.At, units.Ratio(worst.Worst))
}
