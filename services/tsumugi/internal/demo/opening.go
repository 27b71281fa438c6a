package demo

import (
	"google.golang.org/protobuf/proto"

	commonv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/common/v1"
)

// opening is the beginning of a story, written for this demo. It ends in the middle of a sentence, so that one sees the
// model go on from there.
const opening = `岬の灯台は、三年前に灯を消したはずだった。
それなのに、霧の濃い夜になると、町の者はみな窓を閉める。
海のほうから、低い笛の音がするからだ。

千夏が鍵を受け取ったのは、十一月の終わりだった。
「古いだけで、悪い建物ではないよ」と、役場の男は言った。
「ただ、夜の八時には上にいないほうがいい」
理由をたずねても、男は笑うばかりで答えなかった。

その晩、千夏は毛布を一枚かかえて、らせん階段を上った。
窓の外は白く、手を伸ばせば霧に触れそうだった。
八時ちょうどに、机の上の古い無線機が、かすかに鳴った。
彼女が受話器を取ると、聞こえてきたのは`

// work is what the writer has fixed about the story. The note holds a group that is drawn from the request's seed.
func work() *commonv1.Story {
	return &commonv1.Story{
		Title:    proto.String("霧笛"),
		Keywords: []string{"灯台", "手紙", "霧"},
		Genres:   []string{"幻想"},
		Synopsis: proto.String("北の岬の灯台を継いだ千夏は、毎晩同じ時刻に鳴る無線機の声に耳をすませる。"),
		Setting:  proto.String("北の小さな港町。灯台は三年前に無人になった。"),
		Note:     proto.String("{静かな|張りつめた}夜の場面を、短い文で書く。"),
		Rating:   proto.String("general"),
	}
}
