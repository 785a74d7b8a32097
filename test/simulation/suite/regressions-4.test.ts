import { testRegressions } from './play.ts';

testRegressions(4);
