package format

// generation reads the element from behind its name on.
func (s *nodeScanner) generation(g *xmlGeneration) {
	s.attrs(field{"task", &g.Task}, field{"finish", &g.Finish}, field{"fault", &g.Fault}, field{"branch", &g.Branch}, field{"esc", &g.Esc})
	s.skip(">\n")
	b := &g.Backend
	s.part("backend", field{"name", &b.Name}, field{"kind", &b.Kind}, field{"address", &b.Address}, field{"model", &b.Model},
		field{"window", &b.Window}, field{"tokenizer", &b.Tokenizer}, field{"esc", &b.Esc})
	s.part("prompt", field{"tokens", &g.Prompt.Tokens}, field{"cached", &g.Prompt.Cached}, field{"seconds", &g.Prompt.Seconds},
		field{"digest", &g.Prompt.Digest}, field{"esc", &g.Prompt.Esc})
	s.part("answer", field{"tokens", &g.Answer.Tokens}, field{"seconds", &g.Answer.Seconds})
	s.inline("error", &g.Error)
	if s.open("picks") {
		s.attr("seed", &g.Picks.Seed)
		g.Picks.Picks = s.list("picks", "pick")
	}
	if s.open("sampling") {
		g.Sampling = &xmlSampling{}
		s.sampling(g.Sampling)
	}
	s.part("request", field{"digest", &g.Request.Digest}, field{"esc", &g.Request.Esc})
	s.close("generation")
}

// list reads an element of items from the end of its attributes on.
func (s *nodeScanner) list(name, item string) []xmlElement {
	if s.has("/>\n") {
		return nil
	}
	s.skip(">\n")
	items := s.inlines(item)
	s.close(name)
	return items
}

// sampling reads the element from behind its name on.
func (s *nodeScanner) sampling(x *xmlSampling) {
	x.Temperature, x.TopP, x.TopK, x.MinP = s.given("temperature"), s.given("top_p"), s.given("top_k"), s.given("min_p")
	x.RepeatPenalty, x.Seed = s.given("repeat_penalty"), s.given("seed")
	s.attr("max_tokens", &x.MaxTokens)
	x.TypicalP, x.TopA, x.TailFree = s.given("typical_p"), s.given("top_a"), s.given("tail_free")
	x.RepeatRange, x.RepeatSlope = s.given("repeat_range"), s.given("repeat_slope")
	x.PresencePenalty, x.FrequencyPenalty = s.given("presence_penalty"), s.given("frequency_penalty")
	s.attr("ban_eos", &x.BanEOS)
	if s.has("/>\n") {
		return
	}
	s.skip(">\n")
	for e := (xmlElement{}); s.inline("stop", &e); e = (xmlElement{}) {
		x.Stops = append(x.Stops, e)
	}
	s.groups(x)
	for b := (xmlBias{}); s.open("bias"); b = (xmlBias{}) {
		s.attrs(field{"token", &b.Token}, field{"value", &b.Value})
		s.skip("/>\n")
		x.Biases = append(x.Biases, b)
	}
	if s.open("grammar") {
		s.section("grammar", &x.Grammar)
	}
	s.close("sampling")
}

// groups reads what has parts.
func (s *nodeScanner) groups(x *xmlSampling) {
	if s.open("dry") {
		d := &xmlDRY{}
		s.attrs(field{"multiplier", &d.Multiplier}, field{"base", &d.Base}, field{"allowed_length", &d.AllowedLength}, field{"range", &d.Range})
		d.Breakers = s.list("dry", "breaker")
		x.DRY = d
	}
	if s.open("xtc") {
		x.XTC = &xmlXTC{}
		s.attrs(field{"probability", &x.XTC.Probability}, field{"threshold", &x.XTC.Threshold})
		s.skip("/>\n")
	}
	if s.open("mirostat") {
		x.Mirostat = &xmlMirostat{}
		s.attrs(field{"mode", &x.Mirostat.Mode}, field{"tau", &x.Mirostat.Tau}, field{"eta", &x.Mirostat.Eta})
		s.skip("/>\n")
	}
	if s.open("dynamic_temperature") {
		x.DynamicTemperature = &xmlDynamic{}
		s.attrs(field{"range", &x.DynamicTemperature.Range}, field{"exponent", &x.DynamicTemperature.Exponent})
		s.skip("/>\n")
	}
	if s.open("smoothing") {
		x.Smoothing = &xmlSmooth{}
		s.attrs(field{"factor", &x.Smoothing.Factor}, field{"curve", &x.Smoothing.Curve})
		s.skip("/>\n")
	}
}
