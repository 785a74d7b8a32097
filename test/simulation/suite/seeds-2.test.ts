import { testSeeds } from './play.ts';

testSeeds(2);
