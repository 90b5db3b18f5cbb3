// Builds the pages into a folder, by default the one that the package ships.
import { readFileSync } from "node:fs";

import * as esbuild from "esbuild";

const outdir = process.argv[2] ?? "../src/holdfast/server/static";
// Packages under the same terms differ in who holds the copyright; the terms stand once.
const owners = new Map();
for (const name of ["preact", "@preact/signals", "@preact/signals-core"]) {
  const licence = readFileSync(`node_modules/${name}/LICENSE`, "utf8").trim();
  const [copyright] = /^Copyright .*$/m.exec(licence);
  const terms = licence.replace(`${copyright}\n\n`, "");
  owners.set(terms, [...(owners.get(terms) ?? []), `${name}: ${copyright}`]);
}
const notices = [...owners].map(([terms, lines]) => `${lines.join("\n")}\n\n${terms}`);
const shared = {
  outdir,
  bundle: true,
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  // Without it, every element carries a comment for bundlers.
  jsxSideEffects: true,
  // Not minified, so that people can read it and git can merge it.
  minify: false,
  legalComments: "inline",
  charset: "utf8",
  logLevel: "warning",
};

const banner = { js: `/*! This file contains\n\n${notices.join("\n\n")}\n*/` };

await esbuild.build({ ...shared, entryPoints: { chat: "chat/main.tsx", console: "console/main.tsx" }, format: "esm", banner });
// Pages of others load it with a plain <script>.
await esbuild.build({ ...shared, entryPoints: { embed: "embed/embed.ts" }, format: "iife" });
