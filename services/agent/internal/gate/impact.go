package gate

import (
	"fmt"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/folder"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

const (
	// maxPath is how much of a path or name stands in a sentence, in code points: all of it.
	maxPath = folder.MaxPath
	// maxListed is how many names a sentence lists.
	maxListed = 20
)

func path(p string) string { return tool.PlainLine(p, maxPath) }

// impactOf says what a change of files does: computed from the plan alone.
func impactOf(p folder.Plan) []Line {
	var out []Line
	add := func(en, ja string) { out = append(out, computed(en, ja)) }
	name, to := path(p.Path), path(p.To)
	switch {
	case p.Op == folder.Delete && p.Kind == folder.KindLink:
		add(fmt.Sprintf("Deletes the link %s, and not what it leads to.", name), fmt.Sprintf("リンク %s を削除します。リンク先は残ります。", name))
	case p.Op == folder.Delete:
		add(fmt.Sprintf("Deletes the file %s (%s).", name, size(p.BeforeSize)), fmt.Sprintf("ファイル %s（%d バイト）を削除します。", name, p.BeforeSize))
	case p.Op == folder.Move:
		add(fmt.Sprintf("Moves %s to %s (%s).", name, to, size(p.BeforeSize)), fmt.Sprintf("%s を %s に移動します（%d バイト）。", name, to, p.BeforeSize))
	case p.Before == folder.Absent:
		add(fmt.Sprintf("Makes the new file %s (%s).", name, size(p.AfterSize)), fmt.Sprintf("新しいファイル %s（%d バイト）を作ります。", name, p.AfterSize))
	case p.Unchanged() && !p.Redacted:
		add(fmt.Sprintf("Leaves the content of %s as it is (%s).", name, size(p.AfterSize)), fmt.Sprintf("%s の内容は変わりません（%d バイト）。", name, p.AfterSize))
	default:
		add(fmt.Sprintf("Replaces the content of %s: %s become %d.", name, size(p.BeforeSize), p.AfterSize),
			fmt.Sprintf("%s の内容を置き換えます: %d バイトが %d バイトになります。", name, p.BeforeSize, p.AfterSize))
	}
	if p.Target != "" && p.Target != p.Path {
		add(fmt.Sprintf("By a link, %s is %s.", name, path(p.Target)), fmt.Sprintf("リンクにより、%s は実際には %s です。", name, path(p.Target)))
	}
	if p.TargetTo != "" && p.TargetTo != p.To {
		add(fmt.Sprintf("By a link, %s is %s.", to, path(p.TargetTo)), fmt.Sprintf("リンクにより、%s は実際には %s です。", to, path(p.TargetTo)))
	}
	if len(p.NewFolders) > 0 {
		add("Makes new folders: "+listed(p.NewFolders, ", "), "新しいフォルダを作ります: "+listed(p.NewFolders, "、"))
	}
	return out
}

func size(bytes int64) string {
	if bytes == 1 {
		return "1 byte"
	}
	return fmt.Sprintf("%d bytes", bytes)
}

func listed(names []string, sep string) string {
	out := make([]string, 0, maxListed+1)
	for i, n := range names {
		if i == maxListed {
			out = append(out, fmt.Sprintf("… (+%d)", len(names)-i))
			break
		}
		out = append(out, path(n))
	}
	return strings.Join(out, sep)
}

// impactOfTool says what is known of a call without a plan, which is little.
func impactOfTool(c ToolCall) []Line {
	d := c.Judged.Tool
	name := path(d.Full())
	unknown := computed("What it changes is not known beforehand; its arguments are shown whole.", "何が変わるかは事前に分かりません。引数はすべて表示されています。")
	switch {
	case !c.Judged.Effectful():
		return []Line{computed(fmt.Sprintf("Looks, by the tool %s, at %s, and changes nothing; the model is told what it finds.", name, listed(c.Judged.Paths, ", ")),
			fmt.Sprintf("ツール %s で %s を見るだけで、何も変更しません。見つけた内容はモデルに渡ります。", name, listed(c.Judged.Paths, "、")))}
	case c.Subject.Process != nil:
		p := c.Subject.Process
		return []Line{computed(
			fmt.Sprintf("Runs a program with exactly these arguments, in the sandbox %q, with the variables: %s.", path(p.Profile), listed(p.Environment, ", ")),
			fmt.Sprintf("この引数のとおりにプログラムを実行します。サンドボックス: %q、環境変数: %s。", path(p.Profile), listed(p.Environment, "、"))), unknown}
	case d.Origin.Kind == tool.MCP:
		return []Line{computed(fmt.Sprintf("The server %s runs the tool %s with exactly these arguments.", path(d.Origin.Server), name),
			fmt.Sprintf("サーバー %s がツール %s をこの引数のとおりに実行します。", path(d.Origin.Server), name)), unknown}
	case d.Origin.Kind == tool.Client:
		return []Line{computed(fmt.Sprintf("The client runs its tool %s with exactly these arguments.", name),
			fmt.Sprintf("クライアントがツール %s をこの引数のとおりに実行します。", name)), unknown}
	}
	return []Line{computed(fmt.Sprintf("Runs the tool %s with exactly these arguments.", name), fmt.Sprintf("ツール %s をこの引数のとおりに実行します。", name)), unknown}
}

// insteadOf are ways with less to lose that we know of.
func insteadOf(p *folder.Plan) []Line {
	switch {
	case p == nil:
		return nil
	case p.Op == folder.Delete:
		return []Line{computed("Move it to another path instead, where it can be brought back.", "削除の代わりに別の場所へ移動すれば、元に戻せます。")}
	case p.Op == folder.Write && p.Before != folder.Absent && !p.Unchanged():
		return []Line{computed("Create it under another name instead, so that the present content stays.", "別の名前で作れば、今の内容が残ります。")}
	}
	return nil
}

// warningsOf are things that a diff does not show by itself.
func warningsOf(p *folder.Plan) []Line {
	if p == nil || p.Invisible == 0 {
		return nil
	}
	return []Line{computed(fmt.Sprintf(`%d characters of the diff cannot be seen or change how others are seen; they are written out as \u{…}.`, p.Invisible),
		fmt.Sprintf(`差分に、見えない文字または他の文字の見え方を変える文字が %d 個あります。\u{…} と表示します。`, p.Invisible))}
}

// notShown warns that something must be approved unseen, or not at all.
func notShown(why NotShown) []Line {
	if why == "" {
		return nil
	}
	texts := map[NotShown]Line{
		Binary:   computed("The content is binary and is not shown: only hashes and sizes are.", "内容はバイナリのため表示していません。ハッシュとサイズだけを表示します。"),
		Large:    computed("The content is too large and is not shown: only hashes and sizes are.", "内容が大きすぎるため表示していません。ハッシュとサイズだけを表示します。"),
		Redacted: computed("The content may not be read here and is not shown: only sizes are.", "読み取りが許可されていないため、内容は表示していません。サイズだけを表示します。"),
	}
	return []Line{texts[why]}
}
