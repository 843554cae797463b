"use client";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";

export function Providers({ children }: { children: ReactNode }) {
  const [queries] = useState(() =>
    new QueryClient({ defaultOptions: { queries: { retry: false, staleTime: 60_000 } } })
  );
  return <QueryClientProvider client={queries}>{children}</QueryClientProvider>;
}
