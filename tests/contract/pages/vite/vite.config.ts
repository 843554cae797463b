import { defineConfig } from "vite";

// `vite preview` takes over the proxy of the server
export default defineConfig({
  server: {
    proxy: {
      "/api": { target: process.env.API_URL, rewrite: (path) => path.replace(/^\/api/, "") },
    },
  },
});
