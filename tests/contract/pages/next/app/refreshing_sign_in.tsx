"use client";
import { useRouter } from "next/navigation";
import { SignIn } from "../sign_in";

/** Renders the page on the server again after the sign-in. */
export function RefreshingSignIn() {
  const router = useRouter();
  return <SignIn onSignIn={() => router.refresh()} />;
}
