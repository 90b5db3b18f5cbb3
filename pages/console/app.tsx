// Which page an address shows.

import type { VNode } from "preact";
import { useEffect } from "preact/hooks";

import { page, place } from "./lib/address";
import { useKeys } from "./lib/keys";
import { me, meProblem, mustLogIn, identify } from "./lib/session";
import { Login } from "./pages/login";
import { Overview } from "./pages/overview";
import { Run } from "./pages/run";
import { Runs } from "./pages/runs";
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
      <Shell>
        <Content />
      </Shell>
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
