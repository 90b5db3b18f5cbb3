// Numbers and names as people read them.

export function count(value: number): string {
  return String(value).replace(/\B(?<!\.\d*)(?=(\d{3})+(?!\d))/g, ",");
}

/** 12_400 → "12.4k" */
export function brief(value: number): string {
  if (value < 10_000) return count(value);
  if (value < 1_000_000) return `${trim(value / 1_000)}k`;
  return `${trim(value / 1_000_000)}M`;
}

function trim(value: number): string {
  return value.toFixed(value < 100 ? 1 : 0).replace(/\.0$/, "");
}

export function bytes(value: number): string {
  if (value < 1_024) return `${value} B`;
  if (value < 1_048_576) return `${trim(value / 1_024)} KiB`;
  return `${trim(value / 1_048_576)} MiB`;
}

export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** A long id with its middle left out: both ends tell ids apart. */
export function middle(text: string, most = 22): string {
  if (text.length <= most) return text;
  const tail = Math.floor((most - 1) / 3);
  return `${text.slice(0, most - 1 - tail)}…${text.slice(-tail)}`;
}

export function capital(text: string): string {
  return text ? text[0]!.toUpperCase() + text.slice(1) : text;
}

/** waiting_children → Waiting children */
export function phrase(name: string): string {
  return capital(name.replace(/[_-]+/g, " "));
}

/** Basis points as a percentage. */
export function percent(bps: number): string {
  return `${(bps / 100).toFixed(bps % 100 ? (bps % 10 ? 2 : 1) : 0)} %`;
}
