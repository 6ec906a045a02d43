// Builds the dashboard into ../static, which is committed, so that users of Podium do not need Node.
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

const service = process.env.PODIUM_URL ?? "http://127.0.0.1:8300";

// Chunks that the first page loads before its own code. The styles of elements and widgets precede those of pages;
// libraries change least, so that a browser keeps them over an upgrade.
const FIRST = [
  {
    name: "libraries",
    test: /node_modules\/(react|react-dom|scheduler|wouter|@tanstack\/(react-query|query-core)|openapi-fetch)\//,
    priority: 2,
  },
  { name: "frame", test: /src\/(theme\.css|base\.css|widgets\/)/, priority: 1 },
];

export default defineConfig({
  plugins: [react()],
  build: {
    outDir: "../static",
    emptyOutDir: true,
    manifest: true, // for .ci/check_dashboard_build.py, and not served: its folder is hidden
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: { output: { codeSplitting: { groups: FIRST } } },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1000,
  },
  server: { proxy: { "/api": service, "/schemas": service, "/v2": service } },
  test: {
    environment: "happy-dom",
    globals: true,
    testTimeout: 20_000,
    setupFiles: ["tests/setup.ts"],
    include: ["src/**/*.test.{ts,tsx}", "tests/**/*.test.{ts,tsx}"],
  },
});
