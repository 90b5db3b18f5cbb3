// The flow of a session, with the node where it is.

import type { VNode } from "preact";

import type { SessionDetail } from "../api/schemas";
import { call, type Reply } from "../lib/call";
import { useLoad } from "../lib/load";
import { soft } from "../lib/soft";
import { Card } from "./basics";
import { Diagram, joined } from "./diagram";

type FlowLayout = Reply<"GET /v1/packs/{digest}/flows/{flow}/layout">;

/** Nothing for a conversation in Python, which has no picture. */
export function FlowPicture({ session }: { session: SessionDetail }): VNode | null {
  const found = useLoad<FlowLayout | null>(
    async (signal) => {
      const flow = session.kind.split(":")[1];
      if (!session.revision || !flow) return null;
      const name = session.revision.split("@")[0]!;
      const deployments = await soft(call("GET /v1/envs/{env}/deployments", { path: { env: session.env }, query: { tenant: session.tenant, limit: 200 }, signal }));
      const revision = deployments?.items.flatMap((one) => one.revisions).find((one) => one.id === session.revision || one.id === name);
      if (!revision?.digest) return null;
      return soft(call("GET /v1/packs/{digest}/flows/{flow}/layout", { path: { digest: revision.digest, flow }, query: { tenant: session.tenant }, signal }));
    },
    [session.id, session.revision, session.kind],
  );
  const layout = found.data;
  if (!layout) return null;
  const current = (session.node ?? "").split(/[./:#]/).at(-1) ?? "";
  const nodes = layout.nodes.map((node) => ({ ...node, label: node.label || node.key, note: node.kind, state: node.key === current ? "active" : "idle" }));
  const byKey = new Map(nodes.map((node) => [node.key, node]));
  const edges = layout.edges.map((edge) => ({ ...edge, kind: edge.back ? "back" : "success", points: joined(edge.points, byKey.get(edge.from), byKey.get(edge.to)) }));
  return (
    <Card title={`Flow ${layout.title || layout.flow}`}>
      <Diagram label="The flow of this session" width={layout.size.w} height={layout.size.h} chosen={current} nodes={nodes} edges={edges} />
    </Card>
  );
}
