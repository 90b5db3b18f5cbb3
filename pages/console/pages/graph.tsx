// A graph: its picture, and the same as a list.

import type { VNode } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import type { GraphDetail } from "../api/schemas";
import { option, quoted, REASON, type Action } from "../lib/action";
import { to } from "../lib/address";
import { call, type Reply } from "../lib/call";
import { listen } from "../lib/live";
import { useLoad } from "../lib/load";
import { scope } from "../lib/session";
import { count } from "../lib/words";
import { Button, Card, Facts, Id, Span, Time } from "../parts/basics";
import { StateBar } from "../parts/chart";
import { Diagram, joined, type DiagramEdge, type DiagramNode } from "../parts/diagram";
import { Head } from "../parts/head";
import { seen } from "../parts/palette";
import { Show } from "../parts/show";
import { State } from "../parts/state";
import { Table } from "../parts/table";
import { Timeline } from "../parts/timeline";

type Layout = Reply<"GET /v1/graphs/{id}/layout">;
type Shown = GraphDetail["members"][string] & { key: string };

export function Graph({ id }: { id: string }): VNode {
  const path = { id };
  const query = { tenant: scope.value };
  const drawn = useRef<Layout>(undefined);
  const found = useLoad(
    async (signal) => {
      const place = (): Promise<Layout> => call("GET /v1/graphs/{id}/layout", { path, query, signal });
      const [graph, layout] = await Promise.all([call("GET /v1/graphs/{id}", { path, query, signal }), drawn.current ?? place()]);
      // Positions change only with the revision.
      drawn.current = layout.revision === graph.revision ? layout : await place();
      return { graph, layout: drawn.current };
    },
    [id, scope.value],
    { when: (change) => change.type === "execution" && String(change.data.execution).startsWith(id) },
  );
  /** States of members that the feed has told since the graph was read. */
  const [news, setNews] = useState<Record<string, string>>({});
  useEffect(() => listen((changes) => setNews((before) => ({ ...before, ...Object.fromEntries(changes.map(({ data }) => [data.execution, data.state])) }))), []);
  useEffect(() => seen(`Graph ${id}`, to(["graphs", id])), [id]);
  return <Show of={found}>{({ graph, layout }) => <Found graph={graph} layout={layout} news={news} />}</Show>;
}

function Found({ graph, layout, news }: { graph: GraphDetail; layout: Layout; news: Record<string, string> }): VNode {
  const members: Shown[] = Object.entries(graph.members).map(([key, member]) => ({ ...member, key, state: news[member.id] ?? member.state }));
  const counts: Record<string, number> = {};
  for (const member of members) counts[member.state] = (counts[member.state] ?? 0) + 1;
  const edges = useMemo(() => edgesOf(layout), [layout]);
  // What is in sight is drawn first.
  const [isWhole, setWhole] = useState(false);
  useEffect(() => setWhole(true), []);
  return (
    <>
      <Head
        up={{ label: "Graphs", page: "graphs" }}
        title={<Id id={graph.id} most={32} copy />}
        sub={
          <span class="head-facts">
            <State name={graph.state} />
            <span>{count(graph.size - graph.open)} of {count(graph.size)} ended</span>
            <span>created <Time at={graph.created_at} /></span>
            <Span from={graph.created_at} until={graph.completed_at} />
          </span>
        }
      >
        {graphActions(graph).map((action) => <Button key={action.verb} action={action} />)}
      </Head>
      <StateBar counts={counts} />
      <Card>
        <Diagram nodes={nodesOf(members, layout)} edges={edges} width={layout.size.w} height={layout.size.h} label={`Graph of ${graph.size} runs; the list below has the same`} />
      </Card>
      {isWhole && <Details graph={graph} members={members} />}
    </>
  );
}

function Details({ graph, members }: { graph: GraphDetail; members: Shown[] }): VNode {
  const needs = useMemo(() => Object.groupBy(graph.edges, (edge) => edge.to), [graph]);
  return (
    <>
      <Waterfall graph={graph} />
      <div class="run-grid">
        <Card title="Members">
          <Table
            label="Members"
            rows={members}
            keyOf={(row) => row.key}
            href={(row) => to(["runs", row.id])}
            columns={[
              { id: "state", label: "State", cell: (row) => <State name={row.state} /> },
              { id: "key", label: "Member", cell: (row) => <a class="strong" href={to(["runs", row.id])}>{row.key}</a> },
              { id: "kind", label: "Task", cell: (row) => row.kind, drop: "narrow" },
              { id: "needs", label: "Waits for", kind: "grow", drop: "narrow", cell: (row) => needs[row.key]?.slice(0, 6).map((edge) => `${edge.from}${edge.on === "success" ? "" : ` (${edge.on})`}`).join(", ") },
              { id: "join", label: "Join", drop: "medium", cell: (row) => (row.join.policy === "quorum" ? `${row.join.k} of them` : row.join.policy) },
            ]}
          />
        </Card>
        <Card title="Facts">
          <div class="pad">
            <Facts
              rows={[
                ["Tenant", graph.tenant],
                ["Revision", graph.revision],
                ["Failures", graph.failures],
                graph.deadline_at !== null && ["Deadline", <Time at={graph.deadline_at} />],
                graph.parent !== null && ["Parent", <Id id={graph.parent} href={to(["runs", graph.parent])} />],
                !!graph.reason && ["Reason", graph.reason],
                graph.replays > 0 && ["Replays", graph.replays],
              ]}
            />
          </div>
        </Card>
      </div>
    </>
  );
}

/** Who waited and ran when. */
function Waterfall({ graph }: { graph: GraphDetail }): VNode {
  const found = useLoad((signal) => call("GET /v1/graphs/{id}/timeline", { path: { id: graph.id }, query: { tenant: scope.value } as never, signal }), [graph.id, graph.open], { when: (change) => change.type === "execution" && String(change.data.execution).startsWith(graph.id) });
  return (
    <Card title="Waterfall" extra={found.data?.more && <span class="faint small">the first 500 members</span>}>
      <Show of={found} rows={3}>{(data) => <Timeline axis={data.axis} spans={data.spans} isWaterfall />}</Show>
    </Card>
  );
}

/** The boxes, with the states of now. */
function nodesOf(members: Shown[], layout: Layout): DiagramNode[] {
  const states = new Map(members.map(({ key, state }) => [key, state]));
  return layout.nodes.map((node) => {
    const state = states.get(node.key) ?? node.state;
    return { key: node.key, label: node.key, note: `${state.replaceAll("_", " ")} · ${node.kind}`, state, href: to(["runs", node.id]), x: node.x, y: node.y, w: node.w, h: node.h };
  });
}

function edgesOf(layout: Layout): DiagramEdge[] {
  const byKey = new Map(layout.nodes.map((node) => [node.key, node]));
  return layout.edges.map((edge) => ({ from: edge.from, to: edge.to, kind: edge.on, points: joined(edge.points, byKey.get(edge.from), byKey.get(edge.to)) }));
}

function graphActions(graph: GraphDetail): Action[] {
  if (graph.state === "running")
    return [
      {
        title: `Cancel graph ${graph.id}`,
        verb: "Cancel graph",
        icon: "slash",
        about: `${count(graph.open)} members have not ended.`,
        target: "POST /v1/graphs/{id}/cancel",
        path: { id: graph.id },
        fields: [{ name: "policy", label: "Members", kind: "select", options: ["cancel_all", "cancel_pending", "leave"], initial: "cancel_all", hint: "cancel_pending lets those that run end; leave lets all go on." }, REASON],
        body: ({ policy, reason }) => ({ policy, reason }),
        cli: ({ policy, reason }) => `graphs cancel ${quoted(graph.id)}${option("policy", policy)}${option("reason", reason)}`,
        role: "operator",
        isDangerous: true,
        done: (reply: { cancelled: number }) => `${count(reply.cancelled)} members cancelled.`,
      },
    ];
  return [
    {
      title: `Replay graph ${graph.id}`,
      verb: "Replay",
      icon: "retry",
      about: "Members that did not complete run again; results of the others stay.",
      target: "POST /v1/graphs/{id}/replay",
      path: { id: graph.id },
      fields: [REASON],
      body: ({ reason }) => ({ reason }),
      cli: ({ reason }) => `graphs replay ${quoted(graph.id)}${option("reason", reason)}`,
      role: "operator",
    },
  ];
}
