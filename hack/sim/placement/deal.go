package main

import "slices"

// network is a bar of Figure 8.7.
type network struct{ Nodes, Chains int }

// dealResult is how near a policy comes to dealing cores uniformly, as shares of nodes
// over the seeds.
type dealResult struct {
	network
	Policy                 string
	Nearest, Uniform, Near spread
	Asked                  float64 // nodes in all, mean over the seeds
}

// spread is a median with the 5th and the 95th percentile.
type spread struct{ Median, Low, High float64 }

// deal places one-core chains that stay, as Figure 8.7 does, with many seeds.
func deal(n network, p policy, s sizes) dealResult {
	var list []shares
	var asked []float64
	for seed := range uint64(s.Deals) {
		c, rng := newCluster(n.Nodes, true), choices(s.Seed+seed)
		total := 0.0
		for range n.Chains {
			ch := oneCore()
			name, count := p.choose(c.nodes, ch.req, rng)
			c.put(c.index[name], ch, 1)
			total += float64(count)
		}
		list, asked = append(list, sharesOf(c, n.Chains)), append(asked, total)
		if p.Name == leastLoaded.Name {
			break // nothing is drawn: one seed tells all
		}
	}
	return dealResult{
		network: n, Policy: p.Name, Asked: mean(asked),
		Nearest: spreadOf(list, func(s shares) float64 { return s.nearest }),
		Uniform: spreadOf(list, func(s shares) float64 { return s.uniform }),
		Near:    spreadOf(list, func(s shares) float64 { return s.near }),
	}
}

// shares of the nodes, by how many cores they gave away.
type shares struct {
	nearest float64 // the mean, rounded to the nearest
	uniform float64 // the mean, rounded down or up, as in the most even deal
	near    float64 // one more or less than that
}

func sharesOf(c *cluster, total int) shares {
	var s shares
	n := len(c.nodes)
	each := 1 / float64(n)
	low, high, nearest := total/n, (total+n-1)/n, (total+n/2)/n
	for i := range n {
		given := c.given(i)
		if given == nearest {
			s.nearest += each
		}
		switch {
		case given >= low && given <= high:
			s.uniform += each
		case given == low-1 || given == high+1:
			s.near += each
		}
	}
	return s
}

func spreadOf(list []shares, share func(shares) float64) spread {
	var values []float64
	for _, s := range list {
		values = append(values, share(s))
	}
	slices.Sort(values)
	return spread{quantile(values, 0.5), quantile(values, 0.05), quantile(values, 0.95)}
}
