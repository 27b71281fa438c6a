// Turns of an agent in LangGraph JS, without a checkpointer: a graph of the four things that a turn is without its model (prompt, call,
// reading the answer, next state). Each line of standard input is a number of turns; the answer is the microseconds of CPU for each.
import { createInterface } from "node:readline";
import { Annotation, END, START, StateGraph } from "@langchain/langgraph";

const answer = JSON.stringify({
  rationale: "次の一手", goal_consistency: "yes: 目標どおり", constraint_check: "yes: 制約内", step: "PLANNING", next_step: "done",
  prompt_pattern: "base_main_specialized", reply: "はい。",
});
const rules = "You are an agent. ".repeat(100);
const allowed = { PLANNING: ["PLANNING", "EXECUTION", "REVIEW"] };

const State = Annotation.Root({
  message: Annotation(), step: Annotation(), prompt: Annotation(), answer: Annotation(), envelope: Annotation(), status: Annotation(),
});
const graph = new StateGraph(State)
  .addNode("build", (s) => ({ prompt: `${rules}\nstep: ${s.step}\n${s.message}` }))
  .addNode("model", () => ({ answer }))
  .addNode("parse", (s) => ({ envelope: JSON.parse(s.answer) }))
  .addNode("move", (s) => {
    if (!allowed[s.step].includes(s.envelope.step)) throw new Error("no such move");
    return { step: s.envelope.step, status: "SUCCESS" };
  })
  .addEdge(START, "build").addEdge("build", "model").addEdge("model", "parse").addEdge("parse", "move").addEdge("move", END)
  .compile();

for await (const line of createInterface({ input: process.stdin })) {
  const turns = Number(line);
  const before = process.cpuUsage();
  for (let i = 0; i < turns; i++) await graph.invoke({ message: "書いて", step: "PLANNING" });
  const { user, system } = process.cpuUsage(before);
  console.log((user + system) / turns);
}
