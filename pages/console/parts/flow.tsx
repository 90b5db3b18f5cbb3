// The flow of a session, with the node where it is.

import type { VNode } from "preact";

import type { SessionDetail } from "../api/schemas";
import { addressOf, call, send } from "../lib/call";
import { useLoad } from "../lib/load";
import { soft } from "../lib/soft";
import { Card } from "./basics";
import { Diagram } from "./diagram";

interface FlowLayout {
  nodes: { key: string; kind: string; label: string; x: number; y: number; w: number; h: number }[];
  edges: { from: string; to: string; label: string; back: boolean; points: [number, number][] }[];
  size: { w: number; h: number };
}

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
      const address = addressOf("GET /v1/packs/{digest}/flows/{id}/layout", { path: { digest: revision.digest, id: flow }, query: { tenant: session.tenant } });
      return soft(send("GET", address, undefined, signal).then((response) => response.json() as Promise<FlowLayout>));
    },
    [session.id, session.revision, session.kind],
  );
  const layout = found.data;
  if (!layout) return null;
  const current = (session.node ?? "").split(/[./:#]/).at(-1) ?? "";
  return (
    <Card title="Flow">
      <Diagram
        label="The flow of this session"
        width={layout.size.w}
        height={layout.size.h}
        chosen={current}
        nodes={layout.nodes.map((node) => ({ ...node, label: node.label || node.key, note: node.kind, state: node.key === current ? "active" : "idle" }))}
        edges={layout.edges.map((edge) => ({ ...edge, kind: edge.back ? "back" : "success" }))}
      />
    </Card>
  );
}
