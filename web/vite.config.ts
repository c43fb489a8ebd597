import { defineConfig } from "vitest/config";

export default defineConfig({
  base: "./",
  build: {
    outDir: "../server/mooring/web/static",
    emptyOutDir: true,
    // One file of each kind under a name of its own, so that a change of the page is a change of these files and no others.
    rolldownOptions: {
      output: { entryFileNames: "page.js", chunkFileNames: "[name].js", assetFileNames: "[name][extname]" },
    },
    modulePreload: { polyfill: false },
    target: "es2022",
    cssTarget: "esnext",
    // A font or picture inside the CSS would be a data: URL, which the page's policy rejects.
    assetsInlineLimit: 0,
  },
  test: { include: ["tests/**/*.test.ts"] },
});
