// Builds the dashboard into ../static, which is committed, so that users of Podium do not need Node.
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

const service = process.env.PODIUM_URL ?? "http://127.0.0.1:8300";

export default defineConfig({
  plugins: [react()],
  build: {
    outDir: "../static",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
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
