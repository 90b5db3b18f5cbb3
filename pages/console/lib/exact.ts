// JSON that keeps every digit: numbers stay the text that they are stored as.

export type Node =
  | { kind: "object"; entries: [string, Node][] }
  | { kind: "array"; items: Node[] }
  /** A number, a boolean or null, as written. */
  | { kind: "plain"; text: string }
  | { kind: "string"; value: string };

const TOKEN = /\s*(?:([{}[\],:])|("(?:[^"\\]|\\.)*")|([^\s{}[\],:"]+))/y;

/** Parse JSON; null if the text is not JSON. */
export function parse(text: string): Node | null {
  const reader = new Reader(text);
  try {
    const node = reader.value(0);
    return reader.isDone() ? node : null;
  } catch {
    return null;
  }
}

class Reader {
  private at = 0;

  constructor(private readonly text: string) {}

  isDone(): boolean {
    return !this.text.slice(this.at).trim();
  }

  value(depth: number): Node {
    if (depth > 500) throw new Error("too deep");
    const [mark, quoted, word] = this.next();
    if (quoted !== undefined) return { kind: "string", value: JSON.parse(quoted) as string };
    if (word !== undefined) {
      JSON.parse(word);
      return { kind: "plain", text: word };
    }
    if (mark === "{") return { kind: "object", entries: this.many("}", () => this.entry(depth)) };
    if (mark === "[") return { kind: "array", items: this.many("]", () => this.value(depth + 1)) };
    throw new Error("unexpected");
  }

  private entry(depth: number): [string, Node] {
    const [, quoted] = this.next();
    if (quoted === undefined || this.next()[0] !== ":") throw new Error("unexpected");
    return [JSON.parse(quoted) as string, this.value(depth + 1)];
  }

  private many<T>(end: string, one: () => T): T[] {
    const found: T[] = [];
    const start = this.at;
    if (this.next()[0] === end) return found;
    this.at = start;
    for (;;) {
      found.push(one());
      const [mark] = this.next();
      if (mark === end) return found;
      if (mark !== ",") throw new Error("unexpected");
    }
  }

  private next(): [string | undefined, string | undefined, string | undefined] {
    TOKEN.lastIndex = this.at;
    const match = TOKEN.exec(this.text);
    if (!match) throw new Error("ended");
    this.at = TOKEN.lastIndex;
    return [match[1], match[2], match[3]];
  }
}

/** The text with two spaces of indent, and the same digits. */
export function pretty(node: Node, indent = ""): string {
  const inner = `${indent}  `;
  if (node.kind === "plain") return node.text;
  if (node.kind === "string") return JSON.stringify(node.value);
  if (node.kind === "array") {
    if (!node.items.length) return "[]";
    return `[\n${node.items.map((item) => inner + pretty(item, inner)).join(",\n")}\n${indent}]`;
  }
  if (!node.entries.length) return "{}";
  return `{\n${node.entries.map(([key, value]) => `${inner}${JSON.stringify(key)}: ${pretty(value, inner)}`).join(",\n")}\n${indent}}`;
}
