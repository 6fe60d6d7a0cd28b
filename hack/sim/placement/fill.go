package main

// fillResult is how many nodes a policy asks as a cluster fills up.
type fillResult struct {
	Policy string
	Asked  [100]float64 // mean per placement, by percent of the cores given away
}

const fullest = 98 // percent

// fill places chains that stay until nearly all cores are given away.
func fill(s sizes, p policy) fillResult {
	c, w, rng := newCluster(s.Nodes, true), newWorkload(s.Seed), choices(s.Seed)
	var asked [100][]float64
	for given := 0; given*100 < fullest*s.Nodes*cores; {
		ch := w.arrival()
		name, n := p.choose(c.nodes, ch.req, rng)
		percent := given * 100 / (s.Nodes * cores)
		asked[percent] = append(asked[percent], float64(n))
		if name != "" {
			c.put(c.index[name], ch, 1)
			given += ch.req.Cores
		}
	}
	res := fillResult{Policy: p.Name}
	for percent, list := range asked {
		if len(list) > 0 {
			res.Asked[percent] = mean(list)
		}
	}
	return res
}
