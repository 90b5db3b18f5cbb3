// Builds the pages into a folder, by default the one that the package ships.
import { readFileSync } from "node:fs";

import * as esbuild from "esbuild";

const outdir = process.argv[2] ?? "../src/holdfast/server/static";
const notices = ["preact", "@preact/signals", "@preact/signals-core"].map(
  (name) => `${name}:\n${readFileSync(`node_modules/${name}/LICENSE`, "utf8").trim()}`,
);
const shared = {
  outdir,
  bundle: true,
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
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
