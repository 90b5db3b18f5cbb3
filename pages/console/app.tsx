// Which page an address shows.

import type { VNode } from "preact";
import { useEffect } from "preact/hooks";

import { page, place } from "./lib/address";
import { useKeys } from "./lib/keys";
import { identify, me, meProblem, mustLogIn, scope } from "./lib/session";
import { Archive } from "./pages/archive";
import { Audit } from "./pages/audit";
import { Causes } from "./pages/causes";
import { Deployment } from "./pages/deployment";
import { Deployments } from "./pages/deployments";
import { Graph } from "./pages/graph";
import { Graphs } from "./pages/graphs";
import { Inbox } from "./pages/inbox";
import { Keys } from "./pages/keys";
import { Leases } from "./pages/leases";
import { Limits } from "./pages/limits";
import { Login } from "./pages/login";
import { NewRun } from "./pages/new";
import { Overview } from "./pages/overview";
import { Queue } from "./pages/queue";
import { Queues } from "./pages/queues";
import { Run } from "./pages/run";
import { Runs } from "./pages/runs";
import { Schedules } from "./pages/schedules";
import { Session } from "./pages/session";
import { Sessions } from "./pages/sessions";
import { Settings } from "./pages/settings";
import { Tenant } from "./pages/tenant";
import { Workers } from "./pages/workers";
import { ActionDialog } from "./parts/dialog";
import { Help, isHelpOpen } from "./parts/help";
import { isPaletteOpen, Palette } from "./parts/palette";
import { Empty, Failed, Loading } from "./parts/show";
import { ENTRIES, Shell } from "./parts/shell";
import { Toasts } from "./parts/toasts";

type Page = (props: { path: string[] }) => VNode;

const PAGES: Record<string, Page> = {
  "": Overview,
  runs: ({ path: [id] }) => (id ? <Run key={id} id={id} /> : <Runs />),
  new: NewRun,
  inbox: Inbox,
  causes: Causes,
  graphs: ({ path: [id] }) => (id ? <Graph key={`${scope.value} ${id}`} id={id} /> : <Graphs />),
  sessions: ({ path: [id] }) => (id ? <Session key={id} id={id} /> : <Sessions />),
  deployments: ({ path: [env, id] }) => (env && id ? <Deployment key={`${env} ${id}`} env={env} id={id} /> : <Deployments />),
  workers: Workers,
  queues: ({ path: [name] }) => (name ? <Queue key={name} name={name} /> : <Queues />),
  schedules: Schedules,
  limits: Limits,
  archive: Archive,
  leases: Leases,
  keys: Keys,
  audit: Audit,
  settings: Settings,
  tenants: ({ path: [name] }) => (name ? <Tenant key={name} name={name} /> : <Overview />),
};

export function App(): VNode {
  useKeys([
    { keys: "Ctrl+k", about: "Find", run: () => (isPaletteOpen.value = true) },
    { keys: "/", about: "Find", run: () => (isPaletteOpen.value = true) },
    { keys: "?", about: "This help", run: () => (isHelpOpen.value = true) },
  ]);
  const title = ENTRIES.find((entry) => entry.page === page.value)?.label ?? "Console";
  useEffect(() => {
    const thing = place.value.path[1];
    document.title = `${thing ? `${thing} · ` : ""}${title} · Holdfast`;
  }, [place.value]);
  if (mustLogIn.value) return <Login />;
  return (
    <>
      <Shell><Content /></Shell>
      <Palette />
      <Help />
      <ActionDialog />
      <Toasts />
    </>
  );
}

function Content(): VNode {
  const Shown = PAGES[page.value];
  if (meProblem.value) return <Failed problem={meProblem.value} retry={() => void identify()} />;
  if (!me.value) return <Loading />;
  if (!Shown) return <Empty icon="search" title="There is no such page">The address names a page that the console does not have.</Empty>;
  return <Shown key={page.value} path={place.value.path.slice(1)} />;
}
