// Builds the dashboard into ../static, which is committed, so that users of Podium do not need Node.
import react from "@vitejs/plugin-react";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

const service = process.env.PODIUM_URL ?? "http://127.0.0.1:8300";

// Chunks that the first page loads before its own code. The styles of elements and widgets precede those of pages;
// libraries change least, so that a browser keeps them over an upgrade.
const FIRST = [
  {
    name: "start", // alone, so that it runs before the others have loaded
    test: /src\/(start\/|trials\/(chosen-columns|table-query|metric-figures)\.ts)|vite\/preload-helper/,
    priority: 3,
  },
  {
    name: "libraries",
    test: /node_modules\/(react|react-dom|scheduler|wouter|@tanstack\/(react-query|query-core)|openapi-fetch)\//,
    priority: 2,
  },
  { name: "frame", test: /src\/(theme\.css|base\.css|widgets\/)/, priority: 1 },
  { name: "app", tags: ["$initial" as const], priority: 1 },
  // What the page of a sweep shares with other pages: in one file instead of one for each group of pages.
  { name: "trials", test: /src\/(trials\/(?!compare-)|selection\.ts|usage\/measures|charts\/charts-of)/ },
];

/** The start script as a file of its own, first in the page: Vite would join it with the application. */
function startScript(): Plugin {
  const source = "src/start/start.ts";
  return {
    name: "start-script",
    transformIndexHtml: {
      order: "post",
      handler: (_, { bundle }) => {
        const built = Object.values(bundle ?? {}).find(file => file.type === "chunk" && file.name === "start");
        const src = `/${built?.fileName ?? source}`;
        return [
          { tag: "script", attrs: { type: "module", async: true, crossorigin: true, src }, injectTo: "head-prepend" },
        ];
      },
    },
  };
}

export default defineConfig({
  plugins: [react(), startScript()],
  build: {
    outDir: "../static",
    emptyOutDir: true,
    manifest: true, // for .ci/check_dashboard_build.py, and not served: its folder is hidden
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: { input: ["index.html", "src/start/start.ts"], output: { codeSplitting: { groups: FIRST } } },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1000,
  },
  server: { proxy: { "/api": service, "/schemas": service, "/v2": service } },
  test: {
    environment: "happy-dom",
    pool: "threads",
    isolate: false,
    globals: true,
    testTimeout: 20_000,
    setupFiles: ["tests/setup.ts"],
    include: ["src/**/*.test.{ts,tsx}", "tests/**/*.test.{ts,tsx}"],
  },
});
