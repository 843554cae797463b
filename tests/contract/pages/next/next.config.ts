import { dirname } from "node:path";
import type { NextConfig } from "next";

const config: NextConfig = {
  // the packages are beside the folder of the project
  turbopack: { root: dirname(import.meta.dirname) },
  rewrites: () =>
    Promise.resolve([{
      source: "/api/:path*",
      destination: `${process.env.API_URL}/:path*`,
    }]),
};
export default config;
