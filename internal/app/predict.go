package app

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"whichfs/internal/flash/models"
	"whichfs/internal/plan"
	"whichfs/internal/plan/media"
	"whichfs/internal/result"
)

const makeTwin = "whichfs list models shows the models; whichfs probe /dev/sdX and then whichfs twin fit last --output my-card.toml make the twin of a card"

// twins turns the storage of a prediction into that of a run: sim:MODEL[,SIZE] for the name or the file
// of a twin, without "sim:" as well. A file my-card.toml in the working directory may be named my-card.
func twins(texts []string) ([]string, error) {
	if len(texts) == 0 {
		return nil, result.Refuse(makeTwin, "a prediction needs the model of a card, and no --storage is given")
	}
	var out []string
	for _, text := range texts {
		text = strings.TrimSpace(text)
		name, _, _ := strings.Cut(text, ",")
		s, err := media.Parse(text)
		if err != nil && !strings.HasPrefix(text, media.KindSim+":") || s.Kind == media.KindDevice && strings.HasSuffix(name, ".toml") {
			if !models.IsPath(name) && isFile(name+".toml") && !isModel(name) {
				text = name + ".toml" + text[len(name):]
			}
			s, err = media.Parse(media.KindSim + ":" + text)
		}
		switch {
		case err != nil:
			return nil, result.Refuse(makeTwin, "%v", err)
		case s.Kind != media.KindSim:
			return nil, result.Refuse(makeTwin, "a prediction needs the model of a card, and storage %s is none", text)
		}
		m, err := models.Resolve(s.Path)
		if err == nil {
			_, err = models.Sized(m, s.Size)
		}
		if err != nil {
			return nil, result.Refuse(makeTwin, "%v", err)
		}
		out = append(out, s.String())
	}
	return out, nil
}

func isModel(name string) bool {
	_, err := models.ByName(name)
	return err == nil
}

func isFile(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// predicted names the hardware that a plan stands for: "BeagleBone Black (bbb) on model sd-basic".
func predicted(p plan.Plan) string {
	text := p.Processor.Name
	if title, _, _ := strings.Cut(p.Processor.Title, ":"); title != "" {
		text = title + " (" + text + ")"
	}
	s, _ := media.Parse(p.Storage) // parsed before
	return text + " on model " + s.Path
}
