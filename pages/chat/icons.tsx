// Icons, drawn with the colour of the text around them.

import type { VNode } from "preact";

const PATHS = {
  clip: "M19.5 11.5l-7.6 7.6a4.6 4.6 0 0 1-6.5-6.5l8-8a3.1 3.1 0 0 1 4.4 4.4l-7.9 7.9a1.6 1.6 0 0 1-2.2-2.2l7.1-7.1",
  file: "M13.5 3.5H7a1.5 1.5 0 0 0-1.5 1.5v14A1.5 1.5 0 0 0 7 20.5h10a1.5 1.5 0 0 0 1.5-1.5V8.5zM13.5 3.5v5h5",
  send: "M5 12h13M12.5 6l6 6-6 6",
  restart: "M4.5 12a7.5 7.5 0 1 0 2.4-5.5M4 3.5v4.2h4.2",
  close: "M6 6l12 12M18 6L6 18",
  down: "M12 5v13M6 12.5l6 6 6-6",
  check: "M5 12.5l4.5 4.5L19 7.5",
  clock: "M12 7.5V12l3 2M12 20.5a8.5 8.5 0 1 0 0-17 8.5 8.5 0 0 0 0 17z",
  warning: "M12 8.5v4.5M12 16.2v.1M12 3.8L2.8 19.7h18.4z",
  person: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4.5 20.5a7.5 7.5 0 0 1 15 0",
  out: "M10 5H5v14h14v-5M14 4h6v6M20 4l-9 9",
} as const;

export function Icon({ name }: { name: keyof typeof PATHS }): VNode {
  return (
    <svg class={`icon icon-${name}`} viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}

/** The first letter of a name. */
export function Avatar({ name }: { name: string }): VNode {
  return (
    <span class="avatar" aria-hidden="true">
      {Array.from(name)[0]?.toUpperCase()}
    </span>
  );
}
