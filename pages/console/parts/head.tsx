// The head of a page.

import type { ComponentChildren, VNode } from "preact";

import { to } from "../lib/address";
import { Icon } from "./icon";

interface Props {
  title: ComponentChildren;
  sub?: ComponentChildren;
  /** The list that this page belongs to. */
  up?: { label: string; page: string };
  children?: ComponentChildren;
}

export function Head({ title, sub, up, children }: Props): VNode {
  return (
    <header class="page-head">
      {up && <a class="crumb" href={to([up.page])}>{up.label} <Icon name="right" /></a>}
      <h1>{title}</h1>
      {children && <div class="actions">{children}</div>}
      {sub && <div class="sub">{sub}</div>}
    </header>
  );
}
