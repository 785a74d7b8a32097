import { findChromium } from './find-chromium.ts';

/** Stops the run before its first test where no browser is installed. */
export default function setup(): void {
  findChromium();
}
