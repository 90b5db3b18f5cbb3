// The flow of a session: where it is, or was, and the way that it took.

import type { VNode } from "preact";

import type { MomentView, SessionDetail } from "../api/schemas";
import { call, type Reply } from "../lib/call";
import { useLoad } from "../lib/load";
import { soft } from "../lib/soft";
import { Card } from "./basics";
import { Diagram, joined } from "./diagram";

/** The end of a flow is small, and has a name here. */
const NARROWEST = 64;

type FlowLayout = Reply<"GET /v1/packs/{digest}/flows/{flow}/layout">;

/** Nothing for a conversation in Python, which has no picture. */
export function FlowPicture({ session, moment }: { session: SessionDetail; moment: MomentView | null }): VNode | null {
  const flow = moment?.at?.flow ?? session.kind.split(":")[1];
  const found = useLoad<FlowLayout | null>(
    async (signal) => {
      if (!session.revision || !flow) return null;
      const deployments = await soft(call("GET /v1/envs/{env}/deployments", { path: { env: session.env }, query: { tenant: session.tenant, limit: 200 }, signal }));
      const revision = deployments?.items.flatMap((one) => one.revisions).find((one) => one.id === session.revision);
      if (!revision?.digest) return null;
      return soft(call("GET /v1/packs/{digest}/flows/{flow}/layout", { path: { digest: revision.digest, flow }, query: { tenant: session.tenant }, signal }));
    },
    [session.id, session.revision, flow],
  );
  const layout = found.data;
  if (!layout) return null;
  const visits = new Map<string, number>();
  for (const visit of moment?.path ?? []) if (visit.flow === flow) visits.set(visit.node, (visits.get(visit.node) ?? 0) + 1);
  const current = moment?.at?.node ?? "";
  const nodes = layout.nodes.map((node) => {
    const times = visits.get(node.key) ?? 0;
    return { ...node, w: Math.max(node.w, NARROWEST), label: node.label || node.key, note: times > 1 ? `${node.kind} · ${times} times` : node.kind, state: node.key === current ? "active" : times ? "completed" : "idle" };
  });
  const byKey = new Map(nodes.map((node) => [node.key, node]));
  const edges = layout.edges.map((edge) => ({ ...edge, kind: edge.back ? "back" : "success", points: joined(edge.points, byKey.get(edge.from), byKey.get(edge.to)) }));
  return (
    <Card title={`Flow ${layout.title || layout.flow}`} extra={current && <span class="faint small">at {current}</span>}>
      <Diagram label="The flow of this session" width={layout.size.w} height={layout.size.h} chosen={current} nodes={nodes} edges={edges} />
    </Card>
  );
}
