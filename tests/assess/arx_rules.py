"""Rules of ARX as Java writes them, made for these tests, and the hierarchies that ARX makes of some values by them."""

from __future__ import annotations

import zlib
from base64 import b85decode

__all__ = ["EXPECTED", "file_of"]


def file_of(name: str) -> bytes:
    """Return the bytes of a rule's file."""
    return zlib.decompress(b85decode("".join(_FILES[name].split())))


EXPECTED: dict[str, str] = {
    "interval-snapped": """
        0; <5; <5; <5; *
        4; <5; <5; <5; *
        5; middle; [5, 11[; 9; *
        11; [11, 13[; [11, 13[; 9; *
        12; [11, 13[; [11, 13[; 9; *
        13; [13, 16[; [13, 23[; 19; *
        40; middle-1; [37, 47[; 43; *
        76; middle-2; [73, 90[; 81; *
        81; middle-2; [73, 90[; 81; *
        89; middle-2; [73, 90[; 81; *
        90; >=90; >=90; >=90; *
        118; >=90; >=90; >=90; *
    """,
    "interval-doc": """
        0; [0, 20[; [0, 33[; [0, 86[; *
        19; [0, 20[; [0, 33[; [0, 86[; *
        20; [20, 33[; [0, 33[; [0, 86[; *
        32; [20, 33[; [0, 33[; [0, 86[; *
        33; [33, 53[; [33, 86[; [0, 86[; *
        60; [53, 66[; [33, 86[; [0, 86[; *
        66; [66, 86[; [33, 86[; [0, 86[; *
        98; [86, 99[; [86, 99[; [86, 99[; *
    """,
    "interval-decimal": """
        0; [0.0, 1.5]; [0.0, 1.5]; *
        0.5; [0.0, 1.5]; [0.0, 1.5]; *
        1.5; [1.5, 2.25]; some; *
        1.75; [1.5, 2.25]; some; *
        2.25; [2.25, 4.0]; some; *
        3.999; [2.25, 4.0]; some; *
        4; [4.0, 1.23456785E7]; [4.0, 1.23456785E7]; *
        12345678.4; [4.0, 1.23456785E7]; [4.0, 1.23456785E7]; *
    """,
    "order-given": """
        low; {low, mid}; lo-mi-hi; *
        mid; {low, mid}; lo-mi-hi; *
        high; high; lo-mi-hi; *
        top; {top, peak}; rest; *
        peak; {top, peak}; rest; *
        end; end; en-la; *
        last; {last}; en-la; *
    """,
    "order-type": """
        1; [1, 7]; 3; *
        2; [1, 7]; 3; *
        7; [1, 7]; 3; *
        9; odd one; 3; *
        10; [10, 64]; 38; *
        33; [10, 64]; 38; *
        64; [10, 64]; 38; *
        100; odd one-1; 38; *
        250; [250, 250]; 249; *
    """,
    "redaction-plain": """
        81667; 8166*; 816**; 81***; 8****; *****
        8166; 8166*; 816**; 81***; 8****; *****
        0; 0****; 0****; 0****; 0****; *****
        12; 12***; 12***; 12***; 1****; *****
    """,
    "redaction-right": """
        81667; x1667; xx667; xxx67; xxxx7; xxxxx
        8166; x8166; xx166; xxx66; xxxx6; xxxxx
        0; x0000; xx000; xxx00; xxxx0; xxxxx
        12; x0012; xx012; xxx12; xxxx2; xxxxx
    """,
    "priority-type": """
        1; 1; 1; *
        5; 5; 5; *
        7; 7; *; *
        9; 9; *; *
        20; *; *; *
    """,
    "priority-given": """
        d; d; d; d; *
        a; a; a; *; *
        c; c; *; *; *
        b; *; *; *; *
    """,
}
"""One line per value: the value, then its labels, a semicolon and a blank between."""

_FILES = {
    "interval-snapped": r"""
        c-
        o~_U1%It6uvvVn`V=yCRr_}y0*oAP+E7p{jn`I)ZHfAZk;wUi5e22y}NU>JMHYuc;`+s=|iCk<{=f8T8g012N8v$R47y*1gWCX`k)V@0a1z%1@S>8^ra
        7;dv+(gV?)a(3p+dK-aF@<?>pZ)vzPuNQHPU$i<eUx(=}!aeM)CMMY)%v<uYewDwvZx1Z$L+DziCPH#EizreJ)U8ae7PZTruk{qob<b9)pLR!K~+Z#jZ
        =t0(9*O}j!j(yH!=eJbfNtQp2fs99!$45|<}-5fU!anp^s>3haaq8sVdwe7moSIB9icq>43kXx>;n`QL8b?(o|m&f<~gNWKSDyW#XA>ob7Cp-WL#^3;?
        (mv&yC81lUAUp1hF6-
        as>kom0wz5nF$a|oPyd%`!2cWjK3hJB1tVn!v<Dx=BDv8uE>~5L#Bx3XI)12&TH3NK>)IYt10E%@ISIU5Dr3Ov6+PrBCvaWD+Y;feota>b$9UUA1aXzt
        ZOrP^)c4S<tqRja1{*U?|du09@tXkWY#j8{Z(pTeAFi)fhSV^x^Bad5>Y{M#114!v@Rw}N^T}N<G#L})zIX#MNvKond=5_7qCqKT>8Cg&yEcgJB?ET2Q
        OApC|%w$|I`Le$nzjJQvn08qq$^_}cRw|e!!_}AuHg<t;LxP!><L&%zgLZ4U>x+h7WIshbTmHmD1VHp)^(0ZLL)58&GNWr2zPh&l_zz*C<Yj+TEl*3r;
        sp{D70#TBWoVwg|5>c^+L?B^cEeX$a)wf<*Rc2I#Sd<unS)spDv&5Zb{Qb)Zk#*nR*Q_ke(8Lo^PS)4kzMH*oE=zI%O_Pf&5Zcl<Ch=&b?t{BAqa2CC6
        %lx*3JvEzvbQu!~ji2448wG%}_0Gc^iY|;|*G~oYPr3F1<59Cf@y)z8{ucL>&DT!)KJ4NS(e_B1Y@e#j6u%U%2@jNU9#BX^6?}qP3v%cD*C7o52jB>7m
        ^xZM=Kb--)5QQJR=+Xz4+j_Rxy^Aj@@8sWPFLjxcHtP30`t)SUd-wv*p~z4u=!1{voeRIBGLB@xCX!Vo&Ysux|-
        w?=zzom_bJ`l3Rj4SC3DiT{(Qf{J9D3KDM`B00-
        4008JAT%}%czzh{nu#&(n9eq3n4e;FRDxEFDD1)ZN)$^ZMU%q~4<_b1>)SyLX$S^%}`nFAGwr<)vi8aI$%emDwuvH6Y-~1nM-FWkHP)z8s-
        =gyDhWa3nAn%#FRV)1#a9!0k&0xOZS3V36Sf(SWDPG(1@ToU;zc*gPfqB$$a5CJw^Sf4F0;vsCPC;&r`(T0+lb2m~0B)x=w)>ddCo{ljW=DX~=Hp$`*z
        2vNmzVh~bY&pv^!`1!315I6SXt~4RFO(LIkOoR%}X)Iq;_M$3uZ?GR!6{!qSYT*^8(iM0c+wvG23Y(
    """,
    "interval-doc": r"""
        c-
        o~^PiPcZ7=JsvYZ9Y2$%+u$txES$sqDl=+kh3j+hldysVzxb#1!=H%*$qUc4qqKO)}|0u!rUlp)FQQ4+RgUv>+A>g6*MDq_m(HJ(M<3TBHY|cu)vlJot
        Uz?q(-#P}U6W+xNZq&G&u3-
        }h%O++pcJvi+W{<}G1c!d3Q^Eo7d{D9@`^DXLtFAb$wXxHPBdilOaTLY7@6<P3L;JP_94@8A9L+nKY&8cQ0i%Whl+iuD*L_zc%WWjnfI2Wp?e);r#;kY
        n7f3dKeZ@T<rD>fl#z`PCokH%DgBXz2S5qwld(OpBfX(Lw2jzU@}Y@~-
        )RQ$HRbzDI~UEv~ql^C94Es|P#+3KO6Jp>$4#uBmL#Rcz?7=nBnksqqpRSXaeBfV`(-
        <h{ZDeE@2pT~I$S6;$@(_467_7%WxC@KW2P=LlQmpOS2EyAja4tnu_Q1}HWmuDk=;%8$BXEq>`MwyAu0Vsz}Cf^n=^7#|&h;(UHppH0qlg|Q=86;&bc@
        Bh00*{2s?rmU@-@??!G#ro?!DiJAtM3{DsJ0-e8vK`Ol4v^9puT(n2+dxUEh~--
        hSs$k}%trQ+ab10J=Qp2qrxrDY1rGozJdV8o)kE%}aD}wZX4zlKJUBaX%(|p8?I_zwtyFeRC$xkGGIc>yh5&cB?QhSoTdmt~ZTz8CFW671$j84-
        f&qwL${rGxKg5G+sLXW7;!jt%9KVrdS_%7`TP1EPPnKDinwBD%_8cqn54=KI-
        Z0w<YY+UiWn)wdjU4vfI{)SU)AKM(5@nVK$e{ovJuSV%VXY$MhZoLeyFdMVf!Ia6VC>a3wS3MHGs4Mya^%wHKR0{@B?RsrJTh2ErLM2ofwp^Rg%7Bylm
        l}R*-X^q#%&h_pJ~xrkdn{gxQtHU%zpk0|00Q8qyqbWLGNg@sRn&(L`>4ROIMDbdHdF1P*M#iu_1=hrRz>{yCuMN2Z%`$Ba-
        _;PSEZd+|?1`x(!7NHnIF--A)uOE40v**7Om|HKp<1+b0)4xVEIRbSrh}E&E?!24ompNU=<;!Hb^f2#%vTS>w^l=6|ztLYRuKY_jnJ6zA(}%R-
        ?7V+I<APS1T`d-
        vLd*~`>`X@^&YgKm0pGImT3?Aks!Fi8XxjW|?d)70=_FfIJ^@%4|MgLEcdYxWQ7Zf#82%|yK39J(a!RIGDy5R4BEtuP+f+=0SC^dv>M$~XJ+NG|BRJHM
        SK^?HI?^g`DnN)6U6g)g{@A9V#T_ge?`iL|@5P_TPfglwWPOv^(ofAd-
    """,
    "interval-decimal": r"""
        c-
        o~_UuauZ7(cnW+4^VBw$Y)3unKvwF5IMDyA+FL$&zf<>n!cmvMTN*IlZ~t&Ar!i&uwq}Fr12gus(=R5ft_?1YsyT2Ga*&mN8*Is1KqAaqMXzJ}49gMf}
        dWNpoY%M%qAb&i&5${``L5pOcHfp@>7#V;0qv3ehXXWcsX5sDi1dU`?Y$!;Cn}QIKI;t}f(U-KY>cZZbmWu#v+KsSN%2*-
        t+#zcnhMu!=hM`j*2`k9rEv;iSuSBdO{R8&gr2Va*ddiA{|#R8YZhGUzu6ev?hV$vgUu3p3oPYuk0BFQPL@^0t8J2(?^WH#K27vGl9_<;l@M1fq@#W|%
        G55b(au1J1*N<8S~%>6mrRGSe-Sp#yhCmu)PIbtN#cL*sz}dG`j$dlK7Y04miksB3Fk7W?>{^AZZFNcJ(L+a^6OuzB_wibmRvK<J|Srw<`Ov76&k49J#
        JFx^^k(`IP*__5=K$!D_a3%Tr6ArHm*@TNW+oX4}1(|J<XYuF&^rPA0t|2`_Rwqw?!HOv@#(C3j6k0t8|i(-
        qDZCGW{W2i4!sY1qg9Y&!d)^~Zx$tfY@*@)dSu9brWAHCZxuSy&id;m!1ZscvKhxid<5~`PTmTOj=S1+AdxjA@cQ4%x`wry?r>%EoR6Zd@4tOnjKvS;(
        3C<NFmGQ&wwj$)?@RTtU0dUa*b$?w8QD)QdNl_D-Pi;kmCR;9$LT1LgQGlxV5cg=Uevj@JRbz>sUylXW=`)-
        }T@aNejm=mFK6oD>w3E=2yo;&8&N`$_4@m#F??VGO)=D1xjc6eLu99PL4F`{oye|q1~yFP^S0QUwLsc2`(KhIF6?Y?O70resqFylCvAwO=u?1bQ>O<J>
        *;srhmy|drP-n))J2y-rEM_(jDCp<6n=k^hcw@=otoLGMP)-
        Mv0>P`X!ibod_PD6aT$KlV1;8g<e*)5mqVas$FHrXrtA6R@N{r<ElHb2?iK`&%{qJ85VB+u%sI)N#!5x5ZQ6C}hdhC8`m6f^_KR*kIV@?m<O5bOhiEXb
        AtZgE@pU%c@))qDH&>dQCQBot{@7WWqWKkq<^xCj}F24+jnvJ8UxEfB6@uXXM`RXRn=Ol;}GMgo|8VtYlBEy09?eiqVmpVywd@z4BaKVb$g5yMXy4CSt
        wl#)vH4=N+ii=q}x@{ty3-n`|O4D!;YuO1&b{kIHO@{Jznr}t+5@{=UkPc??VczcAQ?isM1=pRysT0Mxvhoqotiy@)PwG#cqN@^3;o}g-
        rAyAFZ4EwN#4h)YROplHf(i=@=wdH|tn<nZ8y{)w9CjVY8=i^S_?@RsS&gv4Zi(xM^tfFp8Y=T)()ajVmZVLR%g)cL(_zz;zK9&
    """,
    "order-given": r"""
        c-o~_U1$_n6uz0A%|;VVOd7Rn^ufg-kzLy+jWmjG{sU_hv)Tq<^k(N~X6o$Bc;{>~NkJ4*5%ob-
        L{ade6h%?&llY(%Y3qY8_MxC6idZO=z7(V&BA$C^|7>jSb{BT`-n-|XbH49<=j>kjgM>X!K6AJp)0n9-
        8_Wrl@fhWPjOsdPItAv%2JwvYv@zYCH7$+tVUCY(>M`xXFTXCTe$@6#Ayr8-H|=Cx$|*P;$in1TbdtuiU|R8>!g-
        g^$%b;n4R9yxnzk+@t~vC(dTZypKNS*6k{XQyg=v=oS&>Ay@lv;ObQ|wQgRN-Lg~k(EI}N5|1Nr3L#>E`siTtuZcL^O-
        >mm^kNPP*m&D0g3)|LzEhZhNGxq9z{WKIn*biOyOzk7*FY`(jPla6vTkatP$)kp}Um@ja}ENbhqK0BK!{n7<eJ3QLkH@c%ck?QM3*|fehV4m=3VstD89
        LrXBc<Ac<_UD%s8KUK1Z{7KH^`+Cb>O*1cVvP0g12wBo(E(;NZl+TV?lwEOpAKGM8U+5RY*+1fmuSC@%)41E(QdMbgnU<g)MIuFBwa!Vu|et?D1~t3;r
        DkI?z|r&N<W!vIaKSXY1I7?nF9uAp5a)U?{3^AX|0>8!Dj=$m4Y+L{g4ezXT0&*g>U}acW52PA0pvNYGoPXXeio!p3RIie(=hvmfDj~k4VmhUv$<}QIA
        EFY?4_`$H%UJ@VM?<>@*B-iK8Tmj0g5WHkK{cw_;#Fsg~&hkcN_OO5#aZfI^U5gHW1^Bqunh)565x_jAjcpXm9JU`F-K87A*2Q)-
        UP3h~R`wHG(GAKmusi9(cIkdhf9vQvYgV%g}4=W^UuVf4QLty-Lv8OI*sY{K*-
        !)MQ4^yX<&eseg}Xl{Bn2ZRX;#Cr@JtZ86!vW}D=ch<?5CKw~=GsDnnuK%lqv;@EfdF3}1MOet7{m8(BT}xK^m~T&Bt}bcwB{j{G8nId|RzY#ab6H8<@
        *Ii^_E*yR!xI68%=@w9_1CF22kK=HRa?x~!H`f^N+@rI6{Sm5P&(TKYQz4v#WTk`&yC5l1vCI@EGbzq6}w8Z0HWe-
        0N?*F6YrmYjH4eri7z@^XFlA7lEt4ZFibDH7RdUtJGJN&+cbh0q8TcuUKmxjrGgAo$P~5A89HvU;=h89-
        7imUySVo|Il+q3Xqq)ABgm9t>PA6Q3Xl*uZebrn1B-f4IH*Pg%b60}MYznEnpn2tlG$3pDvZ}$Mt2nsRR0Zte+wD
    """,
    "order-type": r"""
        c-o~^TS!zv7@oa&Nv%xHG%*V{D2iRBi;{}1m(_(eO^w8t9QTa7C(fR8oHIv{29gB%U_C@d1Vus-
        22$CR^bmwZJ@imL1Q}5XT_Ac1L<ougnO)sAqu4yKvvc|9|Nrm%znPi*hEfcQ4rw&xmWV77mC3y_p>9kqHx7j;31LPIcN5HE8VnECnzAAh+CrhJ#Rieyy
        #BZ)_3fTTJF*2(Mo^3Bm|~_;hVla^aX<E$OjbN~%kz~MMb*iMYowZ~%W6nO+&lW!`KY_%yB#?KC|$w~vq7COR1yHUo<z4EaO<fDgAOpL1mj*)4Ki6%8Q
        S+}<9H4p?^4$n+XN0$Lp%|Kp^XXHnz7D7l_m@7$-I{p-+ewVm~%!kl>alW-@Uj5HcKC-
        =s>a=h`lKG<sbwoHgH^S1*;)<gK9<+7j=d*TiWUy+D_DZ+Z*aZHoN{9aEWl2x2@B!G7=(mp?aclThUmRC|PQ+MkAOpR2U_Z5sP{1Nl=bp#V3|H(~1_v3
        NVtBz;r;&@l}ISki+sS&)3r~=6ETJ|C-m#!QFSRWIAW<920y1#QQJiR*AvYNK``QAO}eMu`->zc(LPzG-XHjF0@|J1_<@5LB*7a1Y=Xz<6}s$Ea`arpK
        X=Cw61>`7fT-
        +Mh;8oe>pZAfY>BT$BA+`VIvH(Oi7!4Jd@x3(t+$gl%Z%?^5GzyK|fl@!ju?cO_40U=CCMn)<8P6+3>S3I}<vH)i7sn{MN$AXa!{8M=1c=B!DD4Zg<3t
        ^bmS>@^W$Jr4M6*UG5j0)vf8gy8@)2D7hCpr}Exq-
        3AFkc!f^|P+Cvao}rqg56+4hped&!8z9Q;M7_aGWfTRcIUS(n#!2>4iU+xgHS((X>Qj8(!I^Oy@(>Yw>;ujinQO!^M)&5YyUrb(dk+GO1xdKicy>+^)W
        N%(4c_j6p>0j#uG3V5VU?ZPQ!sSC{930FU$pc*KsMCBHF@W&W{%4&+zPKlguq#fT{t$bA08x62%MobO_H{2DzOB%0)dV9ig+(t9p0Akp&;J2Oad=~@4r
        cCBpM_Joo0g7&o}B`+<aB#Uzwd{L4>ORe?whm_lG~7%GzoEgzCcW#=^4UDrKlDX;H_0^5+gJ<%(Yw6dheditWG!R^%bvqmcM(exUEi#bXnvABfW~svrp
        Y1(F%xLI
    """,
    "redaction-plain": r"""
        c-p0szfJ-{5XJ|hAt8c>-j0gm&X^br5)-
        &Pgk&QIE;bfqWY@bj_h()9%wfT^SXmk0!p;}5u&}Uq_Y|ZuA#VB2w==)_cAws1dnVx|m4QVWrz}zYnlovk%q<K8$pTbtX7#m(avILN8ILHFBSvwmc$#!
        ^#^~Ys+oSj4UY4Qaz@9)#c@j7wO6_6Nfreb#S0aHLMm&i1z@gL)74(RPu-74M4PpO6*ndMbi#}}vI~a)&ub3M1d#0d4ZtxE62$R5e)9fl@+Eb-zj65-
        pTUbDuKt0C%0;7x(mINwXsw?uMyHQKIgo91<dim_A{pZ(*GL#5xskzW##~Ux)^!3GdE*27wHYF(T!p~^{=q>6d7|R4>c}W(p7lne|k>_?Ce=t0obUS0u
        g%-5*VE2Dt<@=S^N10433Tnjb`4fLQ84XVRz7S$z3RPVw1XD4NFVi*Z0{
    """,
    "redaction-right": r"""
        c-p0szfJ-{5XJ|hAt8c>-j4c?m>3HZ6SzBsWFrPHHWp-H*Sj_MXI=KpVZpOlSsCBL&KI$;u&{Uc6r?gCZnxijGxM9-
        eR_x8xrEbH1{P(UvPAJ~&ZLDhw=f7K3sAAS)z=!zS-9wCJfcjF7{!_5Y0||xqemBSkKTuSRfdWK2LdVON#KMiwTDRu8ggY{iv(&I@gUX>hf)_*&?6ec-
        h{9<g#8O){|(VB>a+>$VI)GFGBxJ+OhJR(;2qi#CV}my*)(F>Q>AH)JTZ=2SVEaVJ;wYJql^)j1S(vqYx1JHQA@dm*0%e4`Ru5}=hufalnCsoh0tIpTM
        yjybz(agO9{u@5)`@ca~c48in>{hWfo(3NfvJgg@XN&=XM-_Fg%}hJ7dp<7Ua6I`@gU9{Ysmy%uXu`YNNqf-=Fxy3GsTq5MpTpRUI&QqZfuR{ypkf
    """,
    "priority-type": r"""
        c-o~>Jx>Bb5FHOBs0l_oV$kLaZSHK;0x2MXTyh2im#7ulz;dp+JI=j<a1DRJA3*FZH8K7PV`p#Te=t_Y);+$wf{+lm+MPE$@6DTe`h-
        =FL$<?BrA1kbI>_3La)t1|LQIoWlOXk!vWOAhyz=v1X0<4<a@OGt{XFq#EB|#je6LEf1W^svY|__hk6NA%>+U#>Q4e8Lza~ARc9B`?8F4c@#3!(iP}YS
        4HLO4t3e-OZ>Ouwb^d+iB(RV4r?)-
        `cg2WIBnLdYuWxIa;&SCob?OuYF8PD<3%H=V?JK%7*tb);Bn4Bbl=pqr=s#wG^m7>$N!=Q_hsMfSfO*1YV`CPqN5I`g#F8yoZGrPlNH!y%W!j@h+FV>B
        QQE8O5)3UgV{o0#LH=Tu?t6gXgQj_wZ>_cj2`}RbFhz_xKhuZ`ZQsdP@+DElOo6IIwX#|OJ$E;41SYi;#(0=KoSb%!SnPbk-
        z$UdmiUk{xUa0HkX#a7z5&e(?E5-Q*`q3Do
    """,
    "priority-given": r"""
        c-
        p0su}i~16vkg;i?vGC4sPPoIdKsM5pA(GfoO{s#Hl`;GmWH8yj*I!6kK$0Rm9D~QT!i7++3UlCvg`iarL!o>>xrhaN)jt@4oxpdw2N)F^|KX!%f*>mci
        =6+O`;%kq0uGCTAuJ=E*9pA+J=MS>Lh^#*5r?xFwod^q7%-
        Jv)6UN@)qA8VuAh&{>1oo(>83GtFY2fMI<H8>slgvXy0YXLX2wg_{CYod}d}0)+^a9|Gl1g7mi{*QjW^Ou)qNj*BR;L<zG2hsj=VefyRX<5zd*5=6ptr
        h6t&f1dBQI860Q(Af)LUkZS3k!+V$wy|!?xw>EL4!Q!8#Z|4as+Bg%+00sQkpc<o_h@HNyA`sEUX|Jr>wmny8QZ+?11S#)+d(6b72$AdsHk%0RUO+1-
        1&u$_t0LP{v$M^0wNe1b|AF6U?$_K=ktsA{lgiml?Jf}+CC%Lk)OO3zqZBr!R5*L;PKOu)W#*lJ~G_$cA*7HQV~*>P)VeWQ1u5?!2G`+Zuo4vi`Mp!3m
        8?kB{jEJDwhgny|7L*_XBAe3j_
    """,
    "order-data": r"""
        c-mX@mVvdnh`}nqC|xflH8UkOuOu@qGqp%Bv8X~XF+IH~H9fH;wOG#sD3(~1oKfjinwgW5TI62@B%Bh9Q&VnUdn(R$Tl)_a1EUWES8{%CL1Iy2Nq$iYgP2cN
        Vp*boX-Q^|zB63hx}u1|mQ?H9i}FhgGV{{GHtMv$X4#iu@rj9n*@uB6C9x#2q_QBjghAd1XskZ6vHCz`^<97pLVyaafr`^g^O8$4^Ycm=jIk?5xIy0$#&m;f
        0vf=U4su9w2?IZp-+U7bK%O!n)l)~mI+n<;JF@^Bax4%(m=kmsx+yAPzf}~}6)~8S>H@G{1}G3>U;z4p59BYsoW#6zJ=eU_Tx7|D5(aMnAQ#u5cqhkTR~KNi
        QO9Z_EWlM9gCc@Uih$9^)9Ja6&*aH!Ca@K<cy%2%(_A^7o8=ZrZ2`~@8$zDKh$j{I)V$Q9%;ezIk`to&`yY60l!jPrNU~8TC!|td1n}-cL{T9_9RqVk0f^!U
        x=s)rT%cs2=aE>P0Za<4?6(dc7E8Fu%)sQvz?GAqnBtb03{3Z)44fqyMXALZ`8g>S1@;c$VC5<20FnYg%m_CO9QK}hC8_DDMM94jEcxEpZUMC4lYzA?F{d;Y
        =nnyeI=|A~q|~CeHB)7|r#$EehZ)FRpkdAw<uMhX)UwnZ;fWC&Megz}1LicK^*JCR9|ra$i24!+dy*3?iXFiG#FCR)TvEayfRvkjfFjlqUw{Ic1LzfDL?AmB
        6(v@JlvFfclAU=xaV|3`WLSzbt5U&w7|U6pfk~nN!MycfcSQAsKDy7uzy!4fsSE+Rjs<Kf6No8PQBeQ@_t@Dl
    """,
}
